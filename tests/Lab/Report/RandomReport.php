<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Random\Engine\Mt19937;
use Random\Randomizer;

/** Reports of any shape that there can be, likely or not, for properties that hold for all. */
final class RandomReport
{
    private readonly Randomizer $random;

    /** @param bool $exact with figures that JSON keeps as they are */
    private function __construct(
        int $seed,
        private readonly bool $exact,
    ) {
        $this->random = new Randomizer(new Mt19937($seed));
    }

    public static function of(int $seed, bool $exact): Report
    {
        return (new self($seed, $exact))->report();
    }

    private function report(): Report
    {
        return new Report(
            $this->text(),
            [$this->text() => $this->text(), '7' => 3, 'load' => 2.0, 'tiny' => 1.5e-9, 'huge' => 1e300, 'negative' => -2, 'third' => 1 / 3],
            ['PHP' => $this->text(), '8' => $this->text()],
            $this->list(3, fn(int $i): Presentation => new Presentation($this->text(), $this->text(), $this->text(), $this->text(), $this->text(), $this->random->getInt(0, 1) === 1, ["p$i" => $this->text()], ["o$i" => $this->text()], $i > 1 ? ["o$i" => $this->text()] : [], [$this->text()])),
            $this->list(8, $this->result(...)),
            $this->list(8, $this->ratio(...)),
            $this->list(3, fn(int $i): array => ['subject' => $this->text(), 'scenario' => $this->text(), 'what' => $this->text(), 'advice' => $this->text()]),
            $this->list(3, fn(int $i): array => ['subject' => $this->text(), 'scenario' => $this->text(), 'reason' => $this->text()]),
            $this->list(3, fn(int $i): string => $this->text()),
            $this->random->getInt(0, 1) === 1,
            $this->random->getInt(0, 1) === 1,
            $this->random->getInt(\PHP_INT_MIN, \PHP_INT_MAX),
            $this->random->getInt(0, 40),
            '2026-05-06T07:08:09Z',
            $this->figure(6),
        );
    }

    private function result(int $i): Result
    {
        $bytes = $this->random->getInt(0, 3) === 0;
        $rounds = [];
        for ($round = $this->random->getInt(1, 6); $round > 0; --$round) {
            $samples = [];
            for ($sample = $this->random->getInt(1, 9); $sample > 0; --$sample) {
                $samples[] = $bytes ? (float) $this->random->getInt(0, 1 << 40) : $this->figure(4);
            }
            $rounds[] = $samples;
        }
        $placements = [Cell::ANYWHERE, Cell::SAME, Cell::OTHER];
        $connections = [Cell::PROCESS, Cell::SOCKET, Cell::TCP, Cell::NETWORK];

        return new Result(
            new Cell($this->text(), "$i:" . $this->text(), $this->text(), $connections[$this->random->getInt(0, 3)], $this->text(), $this->text(), $this->text(), $this->text(), $this->random->getInt(1, 10), $bytes ? Cell::BYTES : Cell::MICROSECONDS, $placements[$this->random->getInt(0, 2)], $this->random->getInt(1, 11)),
            $rounds,
            $this->random->getInt(0, 1) === 0 ? null : $this->figure(6),
        );
    }

    private function ratio(): Ratio
    {
        $known = $this->random->getInt(0, 2) > 0;
        $ends = [$this->figure(6), $this->figure(6)];
        \sort($ends);
        $kinds = [Ratio::TABLE, Ratio::PAIR, Ratio::NOISE];

        return new Ratio(
            $this->text(),
            $this->text(),
            $this->figure(6),
            $known ? $ends[0] : 0.0,
            $known ? $ends[1] : \INF,
            $this->random->getInt(0, 40),
            $kinds[$this->random->getInt(0, 2)],
            $this->random->getInt(0, 1) === 0 ? null : $this->figure(6),
            $this->text(),
            $this->list(4, fn(int $i): float => $this->figure(6)),
        );
    }

    /** From a tenth of a nanosecond to an hour, in microseconds; sometimes nothing at all. */
    private function figure(int $digits): float
    {
        if ($this->random->getInt(0, 20) === 0) {
            return 0.0;
        }
        $figure = $this->random->getInt(100_000_000, 1_000_000_000) / 1e9 * 10 ** $this->random->getInt(-3, 10);

        return $this->exact ? (float) \sprintf('%.' . ($digits - 1) . 'e', $figure) : $figure;
    }

    private function text(): string
    {
        $texts = ['', 'a', "redis:socket:\u{e9}", '0', '/', '"', Fixture::HOSTILE, "a\0", "\u{1F600}", '50x50', \str_repeat('x', 300)];

        return $texts[$this->random->getInt(0, \count($texts) - 1)] . $this->random->getInt(0, 9);
    }

    /**
     * @template T
     *
     * @param \Closure(int): T $make
     *
     * @return list<T>
     */
    private function list(int $most, \Closure $make): array
    {
        $list = [];
        for ($i = $this->random->getInt(0, $most); $i > 0; --$i) {
            $list[] = $make($i);
        }

        return $list;
    }
}
