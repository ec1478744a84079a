<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Run;

use Larder\Lab\Run\Ledger;
use Larder\Lab\Run\Measured;
use Larder\Lab\Run\NotWritable;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class LedgerTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('lab');
    }

    public function testASecondRunOfTheSameSaysWhoHoldsItAndLeavesItAlone(): void
    {
        $first = $this->another('this', 7);
        $path = self::path($this->directory->path);
        $before = \file_get_contents($path);

        try {
            new Ledger($this->directory->path, 'this', 1);
            self::fail('Two processes run the same.');
        } catch (NotWritable $e) {
            self::assertMatchesRegularExpression("/process $first->pid, since \\d{4}-/", $e->getMessage());
        }
        self::assertSame($before, \file_get_contents($path));

        $first->write("\n");
        $first->wait(10);
        $ledger = new Ledger($this->directory->path, 'this', 1);
        self::assertSame(7, $ledger->seed, 'the seed of the first');
        self::assertEquals([[0, 'a', [new Measured([1.5, 2.0], 3.0)]]], $ledger->kept());
        self::assertTrue($ledger->has(0, 'a'));
        self::assertFalse($ledger->has(1, 'a'));
    }

    public function testTheLockEndsWithItsProcessHoweverThatEnds(): void
    {
        $first = $this->another('this', 7);
        $first->signal(\SIGKILL);
        $first->wait(10);

        self::assertCount(1, (new Ledger($this->directory->path, 'this', 1))->kept());
    }

    public function testAnotherRunHasAFileOfItsOwn(): void
    {
        $first = $this->another('this', 7);
        $path = self::path($this->directory->path);
        $before = \file_get_contents($path);
        $other = new Ledger($this->directory->path, 'that', 1);
        $other->keep(0, 'b', [new Measured([1.0])]);
        $other->remove();

        self::assertSame([], $other->kept());
        self::assertSame(1, $other->seed);
        self::assertSame($before, \file_get_contents($path));
        self::assertSame($path, self::path($this->directory->path), 'only its own is removed');
        $first->write("\n");
    }

    /** A process that has begun a run, has kept one measurement, and waits for a line. */
    private function another(string $what, int $seed): Process
    {
        $process = new Process([\PHP_BINARY, '-r', <<<'PHP'
            require $argv[1];
            $ledger = new Larder\Lab\Run\Ledger($argv[2], $argv[3], (int) $argv[4]);
            $ledger->keep(0, 'a', [new Larder\Lab\Run\Measured([1.5, 2.0], 3.0)]);
            echo "ready\n";
            fgets(STDIN);
            PHP, \dirname(__DIR__, 3) . '/vendor/autoload.php', $this->directory->path, $what, (string) $seed]);
        $process->expect('ready', 10);

        return $process;
    }

    private static function path(string $directory): string
    {
        $files = \glob("$directory/bench-*.jsonl") ?: [];
        self::assertCount(1, $files);

        return $files[0];
    }
}
