<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Larder\Bridge\Laravel\LarderServiceProvider;
use Larder\Bridge\Laravel\Opened;
use Larder\Bridge\Laravel\Settings;
use Larder\Cache;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;

#[CoversNothing]
#[Group('bridge')]
final class SqliteStoreTest extends StoreRules
{
    protected function dsn(): ?string
    {
        // Where a new application has it.
        return null;
    }

    // Seen to fail with Larder's own time-out.
    public function testAWriteWaitsForAnotherProcess(): void
    {
        self::assertTrue($this->cache()->put('k', 'old', 600));
        $code = <<<'PHP'
            $database = new PDO("sqlite:$argv[1]");
            $database->exec('BEGIN IMMEDIATE');
            echo "ready\n";
            fgets(STDIN);
            usleep(700_000);
            $database->exec('ROLLBACK');
            PHP;
        $other = Process::snippet($code, [$this->root->file('storage/framework/cache/larder/larder.db')]);
        $other->expect('ready');
        $other->write("go\n");
        self::assertTrue($this->cache()->put('k', 'new', 600));
        self::assertSame(1, $this->cache()->increment('hits'));
        self::assertSame(0, $other->wait());
    }

    #[Group('long')]
    public function testAFlushOfATagIsOneWriteAndLeavesNoOrphan(): void
    {
        $entries = 100_000;
        $settings = Settings::of($this->app);
        $opened = new Opened();
        $tag = LarderServiceProvider::repository($opened, $settings, [])->tags('people');
        $fill = static function () use ($tag, $entries): void {
            foreach (\array_chunk(\range(1, $entries), 1_000) as $chunk) {
                self::assertTrue($tag->putMany(\array_combine(\array_map(static fn(int $n): string => "key-$n", $chunk), $chunk), 3_600));
            }
        };
        $done = static function () use ($opened, $settings): array {
            // The one that the repository writes to.
            $disk = $opened->once(Cache::class, $settings->cache(), static fn(): never => self::fail())->stats()['disk'];

            return [$disk['writes'], $disk['calls'], $disk['entries']];
        };
        $fill();
        self::assertSame($entries, $done()[0]);
        self::assertSame($entries, $done()[2], 'no row but the entries\'');
        [$writes, $calls, $rows] = $done();
        self::assertTrue($tag->flush());
        self::assertSame([$writes + 1, $calls + 1, $rows + 1], $done(), 'the tag\'s marker alone');
        self::assertSame([], \array_filter($tag->many(\array_map(static fn(int $n): string => "key-$n", \range(1, $entries))), static fn(mixed $value): bool => $value !== null));
        $fill();
        self::assertSame($rows + 1, $done()[2], 'what is stored anew takes the place of the old');
        self::assertSame($entries, $this->elsewhere()->tags('people')->get("key-$entries"));
    }
}
