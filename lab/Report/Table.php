<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

/** A table of a report, without any form yet. */
final readonly class Table
{
    /**
     * @param string       $id      unique in its report, of a-z, 0-9 and -
     * @param string       $about   one line to be read with it: units, what is compared with what; may be empty
     * @param list<Column> $columns
     * @param list<Row>    $rows
     */
    public function __construct(
        public string $id,
        public string $title,
        public string $about,
        public array $columns,
        public array $rows,
    ) {}

    /** Without the columns that say nothing in any row. */
    public function withoutEmptyColumns(): self
    {
        $kept = [];
        foreach (\array_keys($this->columns) as $i) {
            foreach ($this->rows as $row) {
                if (!\in_array($row->cells[$i], ['', Units::NOTHING], true)) {
                    $kept[] = $i;
                    break;
                }
            }
        }

        return $this->only($kept);
    }

    /** @param list<int> $kept columns */
    public function only(array $kept): self
    {
        $place = \array_flip($kept);

        return new self(
            $this->id,
            $this->title,
            $this->about,
            \array_map(fn(int $i): Column => $this->columns[$i], $kept),
            \array_map(static fn(Row $row): Row => new Row(
                \array_map(static fn(int $i): string => $row->cells[$i], $kept),
                \array_values(\array_intersect_key($place, \array_flip($row->best))),
                $row->bad,
                $row->id,
            ), $this->rows),
        );
    }
}
