<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

/** What the web server answered. */
final readonly class Response
{
    /** @param array<string, list<string>> $headers names in lower case */
    public function __construct(
        public int $status,
        public array $headers,
        public string $body,
    ) {}

    /** Several of one name after one another; '' without. */
    public function header(string $name): string
    {
        return \implode(', ', $this->headers[\strtolower($name)] ?? []);
    }

    /** @return array<string, string> the cookies that it sets, decoded, and '' for those that it takes away */
    public function cookies(): array
    {
        $cookies = [];
        foreach ($this->headers['set-cookie'] ?? [] as $line) {
            [$name, $value] = \explode('=', \explode(';', $line)[0], 2) + [1 => ''];
            $value = \rawurldecode($value);
            // WordPress takes one away by a value of a blank.
            $cookies[$name] = \trim($value);
        }

        return $cookies;
    }
}
