<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\ReportUnreadable;
use Larder\Lab\Run\Report;

/** A report from a file, checked for what a ratio cannot be made of. */
final readonly class Source
{
    public function __construct(private JsonReader $reader = new JsonReader()) {}

    /**
     * @throws ReportUnreadable it is not a report
     * @throws NotComparable    it has a time of zero
     */
    public function read(string $file): Report
    {
        if ($file === '' || \str_contains($file, "\0")) {
            throw NotComparable::file($file === '' ? 'An empty name' : $file, 'there is no such file');
        }
        $report = $this->reader->read($file);
        foreach ($report->results as $result) {
            if (!$result->cell->isExact() && \min($result->centers()) <= 0.0) {
                throw NotComparable::noTime($file, $result->cell->id());
            }
        }

        return $report;
    }
}
