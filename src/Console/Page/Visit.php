<?php

declare(strict_types=1);

namespace Larder\Console\Page;

use Larder\Page\Url;
use Symfony\Component\Console\Exception\InvalidArgumentException;

/** A request as it is described on the command line: URL, fields, cookies. */
final readonly class Visit
{
    /** @param list<array{string, string}> $fields name and value */
    private function __construct(public string $method, public string $url, public array $fields) {}

    /**
     * @param list<string> $headers "Name: value"
     * @param list<string> $cookies "name=value"
     *
     * @throws InvalidArgumentException
     */
    public static function of(string $url, array $headers = [], array $cookies = [], string $method = 'GET'): self
    {
        $normal = Url::normal($url);
        if ($normal === null) {
            throw new InvalidArgumentException('"' . $url . '" is no URL of a page. Write for example https://example.org/path?query.');
        }
        if (\preg_match("/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/D", $method) !== 1) {
            throw new InvalidArgumentException('"' . $method . '" is no method. Write for example --method=HEAD.');
        }
        $fields = [];
        foreach ($headers as $header) {
            if (\preg_match("/^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/D", $header, $part) !== 1) {
                throw new InvalidArgumentException('"' . $header . '" is no field. Write for example -H "Accept-Language: de".');
            }
            $fields[] = [$part[1], \rtrim($part[2], " \t")];
        }
        foreach ($cookies as $cookie) {
            if (\preg_match('/^[^=;,\s]+=[^;\r\n\0]*$/D', $cookie) !== 1) {
                throw new InvalidArgumentException('"' . $cookie . '" is no cookie. Write for example --cookie "language=de".');
            }
            $fields[] = ['Cookie', $cookie];
        }

        return new self($method, $normal, $fields);
    }

    /** The same for another URL. */
    public function to(string $url): self
    {
        return new self($this->method, $url, $this->fields);
    }

    /**
     * As a web server gives them to PHP (RFC 3875, section 4.1).
     *
     * @param array<string, string> $server Pages::server()
     *
     * @return array<string, string>
     */
    public function variables(array $server): array
    {
        [$origin, $target] = $this->parts();
        [$scheme, $host] = \explode('://', $origin, 2);
        $variables = $server + [
            'REQUEST_METHOD' => $this->method,
            'REQUEST_URI' => $target,
            'QUERY_STRING' => \explode('?', $target, 2)[1] ?? '',
            'HTTP_HOST' => $host,
            'SERVER_PORT' => \preg_match('/:(\d+)$/D', $host, $port) === 1 ? $port[1] : ($scheme === 'https' ? '443' : '80'),
            'SERVER_NAME' => (string) \preg_replace('/:[0-9]+$/D', '', $host),
        ] + ($scheme === 'https' ? ['HTTPS' => 'on'] : []);
        foreach ($this->lines() as $name => $value) {
            $variables['HTTP_' . \strtoupper(\strtr($name, '-', '_'))] = $value;
        }

        return $variables;
    }

    /** @return array{string, string} scheme with host and port, and what is asked for there */
    public function parts(): array
    {
        $slash = (int) \strpos($this->url, '/', \strlen('https://'));

        return [\substr($this->url, 0, $slash), \substr($this->url, $slash)];
    }

    /** @return array<string, string> each field once, by its name as it was first written */
    public function lines(): array
    {
        $lines = $names = [];
        foreach ($this->fields as [$name, $value]) {
            $first = $names[\strtolower($name)] ??= $name;
            $lines[$first] = isset($lines[$first]) ? $lines[$first] . (\strtolower($name) === 'cookie' ? '; ' : ', ') . $value : $value;
        }

        return $lines;
    }
}
