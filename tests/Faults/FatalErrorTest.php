<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Cache;
use Larder\Store\OutageGuard;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** A fatal error ends a script in the middle of a store's call, and the application's shutdown function changes the cache all the same. */
#[CoversClass(OutageGuard::class)]
final class FatalErrorTest extends TestCase
{
    /** Seen to fail: the change was kept in that process alone, and the next request read the old value. */
    #[TestWith(['$cache->delete("k");'])]
    #[TestWith(['$cache->set("k", "newer");'])]
    #[TestWith(['$cache->invalidateTags("t");'])]
    #[TestWith(['$cache->flush();'])]
    public function testWhatAShutdownFunctionInvalidatesAfterItIsInvalid(string $change): void
    {
        $code = <<<'PHP'
            $cache = Larder\Cache::open($argv[1]);
            $value = str_repeat('x', 8 << 20);
            register_shutdown_function(function () use ($cache): void {
                ini_set('memory_limit', -1);
                CHANGE
                echo "\n", $cache->lastOutcome()->name, ' ', basename(dirname(error_get_last()['file'] ?? '')), "\n";
            });
            ini_set('memory_limit', memory_get_usage(true) + ((int) $argv[2] << 20));
            $cache->set('large', $value);
            PHP;
        // Somewhere there is room for the encoded value, and none for the file's content.
        for ($room = 10; $room < 40; $room += 4) {
            $directory = new TemporaryDirectory();
            $dsn = 'file://' . $directory->file('cache');
            Cache::open($dsn)->set('k', 'old', tags: ['t']);
            $process = Process::snippet(\str_replace('CHANGE', $change, $code), [$dsn, (string) $room], ['error_log' => '/dev/null']);
            $process->wait();
            if (\str_ends_with($process->output(), "\nDown File\n")) {
                self::assertNull(Cache::open($dsn)->get('k'));

                return;
            }
        }
        self::fail('The error never struck in the store.');
    }
}
