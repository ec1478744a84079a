<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\ServiceFailure;

/** Asks a web server, one request after the other or several at once. It keeps no cookies and follows no redirect. */
final readonly class Browser
{
    /** Seconds for a request. */
    private const PATIENCE = 60;

    /** @param non-empty-string $url without a slash at its end */
    public function __construct(private string $url) {}

    /** @param array<string, string> $headers */
    public static function of(string $url, array $headers = []): Response
    {
        return (new self($url === '' ? throw new \LogicException('No address.') : $url))->ask(new Request('', headers: $headers));
    }

    public function ask(Request $request): Response
    {
        return $this->together([$request])[0];
    }

    /**
     * All at once.
     *
     * @param non-empty-list<Request> $requests
     *
     * @return non-empty-list<Response> in the requests' order
     *
     * @throws ServiceFailure if one gets no answer
     */
    public function together(array $requests): array
    {
        $all = \curl_multi_init();
        $handles = $headers = [];
        foreach ($requests as $number => $request) {
            $headers[$number] = [];
            $handles[$number] = $handle = $this->handle($request, $headers[$number]);
            \curl_multi_add_handle($all, $handle);
        }
        do {
            \curl_multi_exec($all, $running);
            // -1: there is nothing to wait for yet.
            $running > 0 && \curl_multi_select($all, 1.0) === -1 && \usleep(500);
        } while ($running > 0);
        // What each came to is only told by these.
        while (\curl_multi_info_read($all) !== false);
        $responses = [];
        foreach ($handles as $number => $handle) {
            \curl_errno($handle) === \CURLE_OK || throw new ServiceFailure("No answer from $this->url{$requests[$number]->path}: " . \curl_error($handle));
            $responses[] = new Response(
                \curl_getinfo($handle, \CURLINFO_RESPONSE_CODE),
                $headers[$number],
                (string) \curl_multi_getcontent($handle),
            );
            \curl_multi_remove_handle($all, $handle);
        }

        return $responses;
    }

    /** @param array<string, list<string>> $headers filled when the answer comes */
    private function handle(Request $request, array &$headers): \CurlHandle
    {
        $cookies = [];
        foreach ($request->cookies as $name => $value) {
            $cookies[] = $name . '=' . \rawurlencode($value);
        }
        $lines = [];
        // An empty one takes away what curl would say.
        foreach ($request->headers + ['Expect' => ''] as $name => $value) {
            $lines[] = $value === '' ? "$name:" : "$name: $value";
        }
        $handle = \curl_init($this->url . $request->path);
        $cookies === [] || \curl_setopt($handle, \CURLOPT_COOKIE, \implode('; ', $cookies));
        \curl_setopt_array($handle, [
            \CURLOPT_RETURNTRANSFER => true,
            \CURLOPT_TIMEOUT => self::PATIENCE,
            \CURLOPT_HTTPHEADER => $lines,
            \CURLOPT_USERAGENT => 'Mozilla/5.0 (Larder\'s lab)',
            \CURLOPT_HEADERFUNCTION => static function ($handle, string $line) use (&$headers): int {
                if (\str_starts_with($line, 'HTTP/')) {
                    $headers = [];
                } elseif (\str_contains($line, ':')) {
                    [$name, $value] = \explode(':', $line, 2);
                    $headers[\strtolower($name)][] = \trim($value);
                }

                return \strlen($line);
            },
        ]);
        if ($request->fields !== null) {
            $files = \array_filter($request->fields, static fn(mixed $field): bool => $field instanceof \CURLFile);
            \curl_setopt($handle, \CURLOPT_POSTFIELDS, $files === [] ? \http_build_query($request->fields) : $request->fields);
        }

        return $handle;
    }
}
