<?php

declare(strict_types=1);

namespace Larder\Bench;

/** One of the things that are compared. */
final readonly class Side
{
    /**
     * @param string                   $name
     * @param \Closure(int): mixed     $run      does the operation that many times, and is what is timed
     * @param ?\Closure(int): mixed    $prepare  what has to be done before that, untimed
     * @param ?\Closure(): bool        $check    whether the operation gives what it should; asked before anything is timed
     * @param int                      $times    operations a sample; 0: found by itself
     */
    public function __construct(
        public string $name,
        public \Closure $run,
        public ?\Closure $prepare = null,
        public ?\Closure $check = null,
        public int $times = 0,
    ) {}
}
