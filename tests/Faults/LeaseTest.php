<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Cache;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** The right to compute, when the store cannot be written just as it is to be given back. */
#[RequiresPhpExtension('pdo_sqlite')]
final class LeaseTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    // Seen to fail: everybody else waited for the lease's 30 seconds.
    public function testAFillThatCannotBeWrittenKeepsNobodyWaiting(): void
    {
        $directory = new TemporaryDirectory();
        $open = static fn(float $timeout): Cache => Cache::open(['dsn' => "sqlite://$directory->path/cache", 'lease' => 60.0, 'timeout' => $timeout]);
        $open(0.1)->set('the database', 'is there');
        $this->fork(static function () use ($directory, $open): never {
            $cache = $open(0.1);
            $foreign = null;
            $cache->remember('k', static function () use ($directory, &$foreign): string {
                // Another program, a backup say, locks the database for longer than is waited.
                $files = \glob("$directory->path/cache/*.db");
                $foreign = new \PDO('sqlite:' . ($files[0] ?? throw new \LogicException('No database.')));
                $foreign->exec('BEGIN EXCLUSIVE');

                return 'computed, and not stored';
            });
            $foreign?->exec('ROLLBACK');
            $directory->write('ready', 'yes');
            while (true) {
                // The request goes on, with other work.
                \sleep(60);
            }
        });
        $this->await(static fn(): bool => \is_file($directory->file('ready')));
        $start = \hrtime(true);
        self::assertSame('computed', $open(5.0)->remember('k', static fn(): string => 'computed'));
        self::assertLessThan(20.0, (\hrtime(true) - $start) / 1e9);
        self::assertSame('computed', $open(5.0)->get('k'));
    }
}
