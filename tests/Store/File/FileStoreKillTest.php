<?php

declare(strict_types=1);

namespace Larder\Tests\Store\File;

use Larder\Store\Change;
use Larder\Store\File\FileStore;
use Larder\Store\Journal\JournalSlice;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Writers that are killed at any moment leave nothing that others could trip over. */
final class FileStoreKillTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-k');
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->endChildren();
        $this->directory->remove();
    }

    private function store(): FileStore
    {
        return new FileStore($this->directory->file('cache'), 10_000_000, 5.0);
    }

    public function testKilledWritersLoseNothingThatTheyWereToldIsDone(): void
    {
        $this->kill(25);
    }

    #[Group('long')]
    public function testManyKilledWritersLoseNothingThatTheyWereToldIsDone(): void
    {
        $this->kill(1500);
    }

    /** Counts upwards under an own key and, by compare-and-swap, under the one of all; notes what it was told is done. */
    private function countUp(int $i): never
    {
        $store = $this->store();
        $writer = \sprintf('%012x', \random_int(0, 0xffffffff));
        $notes = \fopen($this->directory->file("told$i"), 'a');
        \assert($notes !== false);
        // One of them writes what takes several pages of memory, so that it can be torn.
        $padding = ' ' . \str_repeat('x', $i === 1 ? 30_000 : 100);
        $record = $store->read(["own$i"])->records["own$i"] ?? null;
        $own = \max((int) ($record->body ?? 0), $this->told($i)[0]);
        for (;;) {
            $own++;
            $store->write([new Change("own$i", $own . $padding, $writer), new Change("gone$i", null, $writer, kind: 'd')]);
            \fwrite($notes, "own $own\n");
            $view = $store->read(['all']);
            $all = $view->records['all'] ?? null;
            $change = new Change('all', (string) ((int) ($all->body ?? 0) + 1), $writer, $all->position ?? $view->at, strict: true);
            if ($store->write([$change])[0]->done) {
                \fwrite($notes, "all\n");
            }
            if ($own % 7 === 0) {
                $store->write([new Change("new$i $own", "$own$padding", $writer), new Change("new$i " . $own - 14, null, $writer)]);
            }
            $lease = $store->read(['lease'])->records['lease'] ?? null;
            \fwrite($notes, $lease === null ? '' : "version $lease->position is $lease->body\n");
            $rest = \array_map(static fn(int $n) => new Change("gone$i", null, $writer, kind: 'd'), \range(0, $own % 40));
            $store->write([new Change('lease', "$writer-$own", $writer, $lease->position ?? 0, logged: false), ...$rest]);
            $own % 20 === 0 && $store->tidy();
        }
    }

    /** @return array{int, int} what the own count had come to; how often the common one was counted up */
    private function told(int $i): array
    {
        $file = $this->directory->file("told$i");
        $notes = \is_file($file) ? (string) \file_get_contents($file) : '';
        \preg_match_all('/^own (\d+)\n/m', $notes, $own);

        return [(int) \end($own[1]), \substr_count($notes, "all\n")];
    }

    private function kill(int $times): void
    {
        $store = $this->store();
        $start = $seen = $store->since('', 0, '');
        $near = [];
        $children = [];
        $torn = 0;
        for ($n = 0; $n < $times; $n++) {
            $i = $n % 3;
            if (isset($children[$i])) {
                // One half may die before they begin. The others get to work first, on a busy machine too.
                for ($all = $this->told($i)[1] + 3; $n % 2 === 0 && $this->told($i)[1] < $all;) {
                    \usleep(1_000);
                }
                \usleep(\random_int(100, 15_000));
                \posix_kill($children[$i], \SIGKILL);
                \pcntl_waitpid($children[$i], $status);
                unset($this->children[$children[$i]]);
                [$own] = $this->told($i);
                $record = $store->read(["own$i"])->records["own$i"] ?? null;
                if ($record === null && $i === 1) {
                    $torn++;
                } else {
                    self::assertContains((int) ($record->body ?? 0), [$own, $own + 1], 'What was done is there, or what was just being done.');
                }
            }
            $seen = $this->follow($store, $seen, $near);
            [$children[$i], $file] = $this->fork(fn() => $this->countUp($i));
            \unlink($file);
        }
        $this->endChildren();
        self::assertSame($start->epoch, $seen->epoch, 'No death is a new epoch.');
        $notes = \implode('', \array_map(fn(int $i) => \file_get_contents($this->directory->file("told$i")), [0, 1, 2]));
        self::assertGreaterThan(0, \preg_match_all('/^version (\d+) is (\S+)\n/m', $notes, $seenVersions, \PREG_SET_ORDER));
        $versions = [];
        foreach ($seenVersions as [, $version, $body]) {
            self::assertSame($body, $versions[$version] ??= $body, 'A version is never given twice.');
        }
        $told = $this->told(0)[1] + $this->told(1)[1] + $this->told(2)[1];
        $all = (int) ($store->read(['all'])->records['all']->body ?? 0);
        self::assertGreaterThan($times, $told, 'They did get to work.');
        self::assertGreaterThanOrEqual($told, $all);
        self::assertLessThanOrEqual($told + $times, $all);
        self::assertLessThan($times / 4 + 2, $torn, 'Only what was being written at the moment of death can be lost.');
        $this->follow($store, $seen, $near);
        $n = 0;
        foreach ($this->store()->each() as $key => $record) {
            if ($key === 'lease') {
                continue;
            }
            self::assertGreaterThanOrEqual($record->position, $near[$key] ?? 0, 'The log has named every change.');
            self::assertMatchesRegularExpression('/\A\d+( x+)?\z/', $record->body);
            self::assertStringStartsNotWith('gone', $key);
            $n++;
        }
        self::assertGreaterThan(4, $n);
        $end = $this->store()->since('', 0, '')->end;
        self::assertGreaterThan($end, $this->store()->write([new Change('k', 'v', 'aaaaaaaaaaaa')])[0]->position);
        self::assertSame($this->store()->since('', 0, '')->end, $this->store()->read(['k'])->at);
    }

    /** @param array<string, int> $near */
    private function follow(FileStore $store, JournalSlice $seen, array &$near): JournalSlice
    {
        $keys = ['all', 'own0', 'own1', 'own2'];
        $view = $store->read($keys);
        $now = $store->since($seen->epoch, $seen->end, $seen->token);
        // Some 10,000 changes, of at least twenty bytes each, may be made while a busy machine lets this process wait.
        self::assertTrue($now->complete || $now->end - $seen->end > 200_000);
        if (!$now->complete) {
            // Any of them may have changed.
            $near = \array_fill_keys($keys, $now->end) + $near;
        }
        foreach ($now->list as [$key, $position]) {
            self::assertGreaterThan($seen->end, $position);
            $near[$key] = $position;
        }
        foreach ($view->records as $key => $record) {
            self::assertLessThanOrEqual($near[$key] ?? -1, $record->position);
        }

        return $now;
    }
}
