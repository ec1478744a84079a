<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Lab\Service\ServiceFailure;

/** A whole answer of a web server. */
final readonly class Answer
{
    /** @param array<string, list<string>> $fields by name in small letters */
    private function __construct(public int $status, public array $fields, public string $body) {}

    /** @param list<string> $fields of the request's header */
    public static function of(string $url, array $fields): self
    {
        $handle = \curl_init($url === '' ? throw new \LogicException('No address.') : $url);
        $found = [];
        \curl_setopt_array($handle, [
            \CURLOPT_RETURNTRANSFER => true, \CURLOPT_TIMEOUT => 30, \CURLOPT_HTTPHEADER => $fields,
            \CURLOPT_HEADERFUNCTION => static function (\CurlHandle $handle, string $line) use (&$found): int {
                $parts = \explode(':', $line, 2);
                isset($parts[1]) && $found[\strtolower($parts[0])][] = \trim($parts[1]);

                return \strlen($line);
            },
        ]);
        $body = \curl_exec($handle);
        \is_string($body) || throw new ServiceFailure("No answer from $url: " . \curl_error($handle));

        return new self(\curl_getinfo($handle, \CURLINFO_RESPONSE_CODE), $found, $body);
    }

    public function field(string $name): string
    {
        return \implode(', ', $this->fields[$name] ?? []);
    }
}
