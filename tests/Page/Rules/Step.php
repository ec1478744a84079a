<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/** One request of a rule, what the application would answer, and what must come of it. */
final readonly class Step
{
    /**
     * In $lines {origin} stands for the site's scheme, host and port, and {authority} for the last two.
     *
     * @param array<string, string>  $fields of the request
     * @param list<string>           $lines  of the application's response, which prints "made by step N" if $body is null
     * @param ?int                   $from   the step whose body the visitor gets; 0: none; null: it is $gets
     * @param ?bool                  $ran    whether the application must have run; by default, if the body is its own
     * @param array<string, ?string> $has    fields of the reply, a pattern if it begins with ~; null: there is none
     * @param array<string, ?string> $asked  fields of the request as the application got it
     */
    public function __construct(
        public string $method = 'GET',
        public string $target = '/page',
        public array $fields = [],
        public int $answers = 200,
        public array $lines = ['Cache-Control: max-age=60'],
        public ?string $body = null,
        public ?int $from = null,
        public ?string $gets = null,
        public ?bool $ran = null,
        public int $status = 200,
        public array $has = [],
        public array $asked = [],
    ) {}
}
