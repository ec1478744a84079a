<?php

declare(strict_types=1);

namespace Larder\Request;

/** Gets of one space, by all Cache objects of a process that were opened with the same call: those and their copies count here by reference. */
final class Tally
{
    // Of Cache.
    public int $free = 0;
    public int $granted = 0;

    // Of RequestTier.
    public int $gets = 0;
    public int $lookups = 0;
    public int $hits = 0;

    // Of the Reader: a near tier's answers to what only the library can judge, and the truth tier's.
    public int $nearHits = 0;
    public int $nearMisses = 0;
    public int $truthHits = 0;
    public int $truthMisses = 0;

    /**
     * @param string $last     which tier the truth is
     * @param int    $underWay gets whose result is not known yet, at most
     *
     * @return array<string, int> by tier and result
     */
    public function counts(string $last, int $underWay = 0): array
    {
        $gets = $this->gets + $this->granted - $this->free;
        $misses = \min($gets, $this->lookups + $this->hits);

        return [
            'request|hit' => $gets - $misses - $underWay,
            'request|miss' => $misses,
            'near|hit' => $this->hits + $this->nearHits,
            'near|miss' => $this->nearMisses,
            "$last|hit" => $this->truthHits,
            "$last|miss" => $this->truthMisses,
        ];
    }
}
