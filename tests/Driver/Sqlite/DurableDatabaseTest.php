<?php

declare(strict_types=1);

namespace Larder\Tests\Driver\Sqlite;

use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** The databases of queues and counters in php-fpm, where a connection outlives its request. */
final class DurableDatabaseTest extends TestCase
{
    private const SCRIPT = <<<'PHP'
        $dsn = "sqlite://$_GET[directory]$_GET[options]";
        echo $_GET['of'] === 'queue'
            ? strlen(Larder\Queue\Queue::open($dsn, 'mail')->push('later', 60)) > 0
            : Larder\Counter::open($dsn, 'views')->add();
        PHP;

    private FpmServer $fpm;
    private string $script;
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('Needs php-fpm.');
        }
        $this->directory = new TemporaryDirectory();
        $this->fpm = new FpmServer(1);
        $this->script = $this->fpm->script('durable.php', self::SCRIPT);
    }

    #[DataProvider('kinds')]
    public function testAFullCommitWaitsForTheDiskOnAConnectionThatOthersHaveUsed(string $of): void
    {
        self::assertSame('1', $this->ask($of, ''));
        $trace = $this->directory->file('trace');
        $strace = new Process(['strace', '-o', $trace, '-e', 'trace=fdatasync,fsync', '-p', (string) $this->fpm->workers()[0]]);
        for ($try = 0; !\str_contains($strace->errors(), 'attached') && $try < 1_000; ++$try) {
            \usleep(10_000);
        }
        $syncs = static fn(): int => \preg_match_all('/^f(data)?sync\(/m', (string) \file_get_contents($trace));
        $this->ask($of, '');
        self::assertSame(0, $syncs());
        for ($i = 0; $i < 3; ++$i) {
            $before = $syncs();
            $this->ask($of, '?synchronous=full');
            self::assertGreaterThan($before, $syncs());
        }
        $before = $syncs();
        $this->ask($of, '');
        self::assertSame($before, $syncs());
    }

    #[DataProvider('kinds')]
    public function testAnIndexThatAnotherProgramCutsShortIsMadeAnew(string $of): void
    {
        for ($i = 1; $i < 4; ++$i) {
            self::assertSame($of === 'queue' ? '1' : (string) (2 * $i - 1), $this->ask($of, ''));
            $workers = $this->fpm->workers();
            $index = (\glob($this->directory->path . '/{*,*/*}.db-shm', \GLOB_BRACE) ?: [])[0] ?? self::fail('There is no index.');
            \file_put_contents($index, '');
            self::assertSame($of === 'queue' ? '1' : (string) (2 * $i), $this->ask($of, ''), 'Nothing is forgotten.');
            self::assertSame($workers, $this->fpm->workers());
            \clearstatcache();
        }
    }

    #[DataProvider('kinds')]
    public function testADeletedDatabaseIsNoticedByTheNextRequest(string $of): void
    {
        self::assertSame('1', $this->ask($of, ''));
        \array_map(\unlink(...), \glob($this->directory->file('*.*')) ?: []);
        self::assertSame('1', $this->ask($of, ''));
        self::assertNotEmpty(\glob($this->directory->file('*.db')));
    }

    /** @return iterable<string, array{string}> */
    public static function kinds(): iterable
    {
        yield 'a queue' => ['queue'];
        yield 'a counter' => ['counter'];
    }

    private function ask(string $of, string $options): string
    {
        return $this->fpm->request($this->script, of: $of, directory: (string) $this->directory, options: $options)->body;
    }
}
