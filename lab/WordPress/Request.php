<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

/** What a browser asks for. */
final readonly class Request
{
    /**
     * @param array<mixed>|null     $fields  of a form, which is then posted; a CURLFile is uploaded
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     */
    public function __construct(
        public string $path,
        public ?array $fields = null,
        public array $cookies = [],
        public array $headers = [],
    ) {}
}
