<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Statistics\Interval;

/** How many times as long one cell took as another (bytes: how many times as large), with its 95 % interval. */
final readonly class Ratio extends Interval
{
    /** Both from the tables: each round measured both, in processes of their own. */
    public const TABLE = 'table';
    /** Both in one process, sample by sample in turn: what small differences need. */
    public const PAIR = 'pair';
    /** The same subject twice, in turn: how far it is from 1 is this machine's noise. */
    public const NOISE = 'noise';

    /**
     * @param string  $of     a cell's id
     * @param string  $to     a cell's id
     * @param int     $rounds that it comes from
     * @param string  $kind   one of the constants
     * @param ?float  $limit  what it may be at most, where something was promised
     * @param string  $title  what is compared, where the ids do not say it
     * @param list<float> $samples the ratio of each round, where it was measured in turn: those rounds are not among the results
     */
    public function __construct(
        public string $of,
        public string $to,
        float $median,
        float $low,
        float $high,
        int $rounds,
        public string $kind = self::TABLE,
        public ?float $limit = null,
        public string $title = '',
        public array $samples = [],
    ) {
        parent::__construct($median, $low, $high, $rounds);
    }
}
