<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/** What a script answered over FastCGI. */
final class FastCgiResponse
{
    private function __construct(
        public readonly int $status,
        /** @var array<string, list<string>> by name in lower case */
        public readonly array $headers,
        public readonly string $body,
        /** What PHP wrote to its error log, when that is its standard error. */
        public readonly string $errors,
    ) {}

    /** Takes a script's output apart as RFC 3875 section 6 says: headers, an empty line, the body. */
    public static function parse(string $output, string $errors): self
    {
        [$head, $body] = \explode("\r\n\r\n", $output, 2) + ['', ''];
        $status = 200;
        $headers = [];
        foreach (\explode("\r\n", $head) as $line) {
            [$name, $value] = \explode(':', $line, 2) + ['', ''];
            $name = \strtolower($name);
            $value = \trim($value);
            if ($name === 'status') {
                $status = (int) $value;
            } elseif ($name !== '') {
                $headers[$name][] = $value;
            }
        }

        return new self($status, $headers, $body, $errors);
    }
}
