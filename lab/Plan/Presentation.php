<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** How a report shows a scenario: its words and the shape of its tables. It stands in the report itself. */
final readonly class Presentation
{
    /** What several scenarios have. */
    private const PAYLOADS = ['short' => 'a short string', '20kB' => 'a 20 kB string', '50x50' => 'a 50x50 array'];
    private const OPERATIONS = ['write' => 'write %s', 'read' => 'read %s'];

    /** @var array<string, string> what a payload is called: "a short string" */
    public array $payloads;

    /** @var array<string, string> what is done; %s stands for the payload */
    public array $operations;

    /**
     * @param string                $name        the scenario's, as typed after `bench`
     * @param string                $about       one line, for `bench --list`
     * @param string                $title       of its section
     * @param string                $remark      what a reader must know before the first picture
     * @param string                $first       payload and operation of the first picture, with / between them
     * @param bool                  $sideBySide  a line a subject with all that it does, for subjects of few figures each
     * @param array<string, string> $payloads    beside those that several scenarios have
     * @param array<string, string> $operations  likewise
     * @param array<string, string> $columns     what an operation is called above a column, where its name would not say it
     * @param list<string>          $populations payloads of which each sample is another object: all statistics are shown
     */
    public function __construct(
        public string $name,
        public string $about,
        public string $title,
        public string $remark = '',
        public string $first = '50x50/read',
        public bool $sideBySide = false,
        array $payloads = [],
        array $operations = [],
        public array $columns = [],
        public array $populations = [],
    ) {
        $this->payloads = $payloads + self::PAYLOADS;
        $this->operations = $operations + self::OPERATIONS;
    }

    /** "read a 50x50 array" */
    public function work(Cell $cell): string
    {
        $payload = $this->payloads[$cell->payload] ?? $cell->payload;

        return isset($this->operations[$cell->operation]) ? \str_replace('%s', $payload, $this->operations[$cell->operation]) : "$cell->operation $payload";
    }
}
