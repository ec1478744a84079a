<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/** What came of a request. */
final readonly class Visit
{
    /**
     * @param array<string, list<string>>  $fields of the reply, by name in small letters
     * @param ?array<string, list<string>> $asked  fields of the request as the application got it; null: it did not run
     */
    public function __construct(public int $status, public array $fields, public string $body, public ?array $asked) {}
}
