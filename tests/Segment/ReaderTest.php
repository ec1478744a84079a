<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use PHPUnit\Framework\Attributes\Group;

/** Processes whose one request lasts as long as they live: what they hold, and what they keep from others. */
#[Group('slow')]
final class ReaderTest extends SegmentTestCase
{
    // Seen to fail: seg_find() that copies nothing, whatever it holds (more than an eighth); seg_is_pinned() that is always false.
    public function testASleepingReaderWhileWritersFillTheSegment(): void
    {
        $reader = Child::at($this->path, 4 << 20);
        $reader->run(<<<'PHP'
            $make = fn($i) => ["n" => $i, "list" => range($i, $i + 60), "text" => str_repeat(chr(65 + $i % 26), 200)];
            for ($i = 0; $i < 400; $i++) $s->set("k$i", $make($i));
            $held = [];
            for ($i = 0; $i < 400; $i++) $held[$i] = $s->get("k$i");
            PHP);
        // It sleeps from here on.
        $writers = [];
        foreach (['a', 'b'] as $name) {
            $writers[$name] = Child::at($this->path);
            $writers[$name]->start(<<<'PHP'
                $failed = $most = 0;
                for ($i = 0; $i < 6000; $i++) {
                    $value = [$name, $i, str_repeat($name, $i % 7 ? $i % 3000 : 20000)];
                    $failed += !$s->set($name . $i % 900, $value);
                    $failed += !$s->set("k" . $i % 400, $i);
                    if ($i % 50 === 0) {
                        $most = max($most, $s->stats()["retired_bytes"]);
                    }
                }
                return [$failed, $most];
                PHP, name: $name);
        }
        $total = 4 << 20;
        foreach ($writers as $writer) {
            $found = $writer->finish(100.0);
            self::assertIsArray($found);
            [$failed, $most] = $found;
            self::assertSame(0, $failed);
            self::assertGreaterThan(0, $most, 'The reader holds nothing.');
            self::assertLessThanOrEqual($total / 8 * 5, $most);
        }
        self::assertSame([0, null], $reader->run('$bad = 0; for ($i = 0; $i < 400; $i++) $bad += $held[$i] !== $make($i); return [$bad, $s->check()];'));
        $other = Child::at($this->path);
        self::assertGreaterThan(0, $other->run('return $s->stats()["retired_bytes"];'));
        self::assertSame(0, $reader->end());
        self::assertSame([0, 0, null], $other->run('$n = $s->stats(); return [$n["retired_bytes"], $n["readers"], $s->check()];'));
    }

    /** It reads in place until it holds its share, and by copying from then on; nobody's set fails, its own neither. */
    // Seen to fail: seg_copied() that does not let go (sets fail).
    public function testALongLivedProcessThatReadsAndWrites(): void
    {
        $other = Child::at($this->path, 4 << 20);
        $worker = Child::at($this->path);
        self::assertSame([true, true], $worker->run(<<<'PHP'
            $s->set("long", str_repeat("a", 100_000));
            $before = memory_get_usage();
            $first = $s->get("long");
            $inPlace = memory_get_usage() - $before < 10_000;
            // More than half and an eighth of four MiB, in values of one page and more.
            $kept = [];
            for ($i = 0; $i < 150; $i++) {
                $s->set("part$i", str_repeat(chr(65 + $i % 26), 20_000));
                $kept[] = $s->get("part$i");
            }
            $s->set("late", str_repeat("z", 100_000));
            $before = memory_get_usage();
            $late = $s->get("late");
            return [$inPlace, memory_get_usage() - $before > 90_000 && $late === str_repeat("z", 100_000)];
            PHP));
        $loop = <<<'PHP'
            $failed = $wrong = $evicted = 0;
            for ($i = 0; $i < 8000; $i++) {
                $key = $name . $i % 300;
                $value = ["i" => $i, "list" => range(0, $i % 200)];
                $failed += !$s->set($key, $value);
                $got = $s->get($key);
                // Others may have needed its room; but it is this, or nothing.
                $wrong += $got !== null && $got !== $value;
                $evicted += $got === null;
                $theirs = $s->get($others . mt_rand(0, 299));
                $wrong += $theirs !== null && count($theirs["list"]) !== $theirs["i"] % 200 + 1;
            }
            return [$failed, $wrong, $evicted < 80];
            PHP;
        $worker->start($loop, name: 'w', others: 'o');
        $other->start($loop, name: 'o', others: 'w');
        self::assertSame([0, 0, true], $worker->finish(100.0));
        self::assertSame([0, 0, true], $other->finish(100.0));
        // What it took in place at the beginning is there.
        self::assertSame([true, null], $worker->run('$good = $first === str_repeat("a", 100_000); foreach ($kept as $i => $text) $good = $good && $text === str_repeat(chr(65 + $i % 26), 20_000); return [$good, $s->check()];'));
        self::assertLessThanOrEqual((4 << 20) / 4, $other->run('return $s->stats()["retired_bytes"];'));
    }
}
