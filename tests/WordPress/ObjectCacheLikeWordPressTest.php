<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Release;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** ObjectCache answers as WordPress's own WP_Object_Cache does: see ObjectCacheComparison. */
#[Group('wordpress')]
final class ObjectCacheLikeWordPressTest extends TestCase
{
    /** @return iterable<string, array{string, bool, bool}> */
    public static function caches(): iterable
    {
        yield 'memory' => ['memory://', false, false];
        yield 'memory, of a network' => ['memory://', true, false];
        yield 'SQLite' => ['sqlite://%s', false, false];
        yield 'SQLite, opened anew' => ['sqlite://%s', false, true];
        yield 'SQLite, of a network, opened anew' => ['sqlite://%s', true, true];
        yield 'APCu over SQLite, opened anew' => ['sqlite://%s?near=apcu', true, true];
        yield 'no segment, opened anew' => ['sqlite://%s?near=none', false, true];
        yield 'files, opened anew' => ['file://%s', true, true];
        if (RedisServer::program() !== null) {
            yield 'Redis, opened anew' => ['redis', true, true];
        }
    }

    #[Group('long')]
    #[DataProvider('caches')]
    public function testVeryManyCallsHaveTheSameAnswers(string $dsn, bool $network, bool $reopens): void
    {
        $this->testTheSameCallsHaveTheSameAnswers($dsn, $network, $reopens, 60_000);
    }

    #[DataProvider('caches')]
    public function testTheSameCallsHaveTheSameAnswers(string $dsn, bool $network, bool $reopens, int $calls = 8_000): void
    {
        $directory = new TemporaryDirectory();
        $redis = $dsn === 'redis' ? new RedisServer() : null;
        // A server that gets no processor for a quarter of a second, the default, is no difference between the two.
        $dsn = $redis === null ? \sprintf($dsn, $directory->path) : "redis://$redis->socket?timeout=5";
        $seed = \random_int(1, 1_000_000_000);
        $child = Process::php(__DIR__ . '/object-cache-compare.php', [
            Release::find('7.1')->path, (string) \json_encode(['dsn' => $dsn, 'prefix' => 'wp']), $network ? '1' : '0', $reopens ? '1' : '0', (string) $seed, (string) $calls,
        ]);
        $difference = $child->output(300.0);
        $errors = \preg_replace('/^Larder: .* has flushed the object cache 11 times .*\n/m', '', $child->errors());
        self::assertSame('', $difference . $errors, "$dsn, network: " . \var_export($network, true) . ', opened anew: ' . \var_export($reopens, true));
        self::assertSame(0, $child->wait());
    }
}
