<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Chaos;

use Larder\Tests\Support\FastCgiResponse;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * Visitors, members, purges, failing pages, kill -9 of workers and a full disk, all at once. Nobody gets a page that is older
 * than a purge which had returned before he asked, nobody another's page, nobody half a page, and nobody an error of ours.
 */
#[CoversNothing]
final class ChaosTest extends TestCase
{
    /** Requests under way at once. */
    private const AT_ONCE = 10;

    private ?Site $site = null;
    private ?RedisServer $redis = null;
    private ?TemporaryDirectory $parent = null;
    private ?string $mounted = null;

    /** When the disk is filled or freed next (hrtime). A store that failed is tried again after two seconds. */
    private int $turn = 0;

    /** @var array<int, int> the version that each page has at the least, for a purge of what was before has returned */
    private array $least = [];

    /** @var array<string, int> */
    private array $counts = ['hit' => 0, 'stored' => 0, 'busy' => 0, 'killed' => 0, 'purged' => 0, 'kept' => 0, 'full' => 0];

    protected function tearDown(): void
    {
        $this->site?->stop();
        $this->redis?->stop();
        if ($this->mounted !== null) {
            \exec('umount ' . \escapeshellarg($this->mounted));
        }
        foreach (\glob('/dev/shm/larder-serve-' . \posix_geteuid() . '-*/constants.php') ?: [] as $file) {
            if ($this->parent !== null && \str_contains((string) \file_get_contents($file), $this->parent->path)) {
                \array_map(\unlink(...), \glob(\dirname($file) . '/*') ?: []);
                \rmdir(\dirname($file));
            }
        }
    }

    /** @return iterable<string, array{string, bool, int}> */
    public static function stacks(): iterable
    {
        yield 'SQLite' => ['sqlite', false, 1];
        yield 'SQLite behind the fast door' => ['sqlite', true, 1];
        yield 'files' => ['file', false, 1];
        yield 'two servers over Redis' => ['redis', false, 2];
    }

    #[DataProvider('stacks')]
    public function testALittleChaos(string $store, bool $hasFastDoor, int $servers): void
    {
        $this->chaos($store, $hasFastDoor, $servers, 3.0);
    }

    #[DataProvider('stacks')]
    #[Group('long')]
    public function testTenMinutesOfChaos(string $store, bool $hasFastDoor, int $servers): void
    {
        $this->chaos($store, $hasFastDoor, $servers, 150.0);
    }

    private function chaos(string $store, bool $hasFastDoor, int $servers, float $seconds): void
    {
        if (!FpmServer::isAvailable() || ($store === 'redis' && RedisServer::program() === null)) {
            self::markTestSkipped('Needs php-fpm, and Redis.');
        }
        $this->turn = \hrtime(true) + 1_000_000_000;
        $site = $this->site = new Site($this->store($store), $hasFastDoor, $servers);
        $visits = $purges = [];
        $start = \hrtime(true);
        // Where the machine was too slow for anything to happen, it gets more time.
        $isOn = fn(): bool => \hrtime(true) - $start < $seconds * 1e9 || (\min($this->counts['hit'], $this->counts['purged']) === 0 && \hrtime(true) - $start < 60e9);
        while ($isOn() || $visits !== [] || $purges !== []) {
            if ($isOn() && \count($visits) < self::AT_ONCE) {
                $visits[] = $this->visit($site);
                if (\random_int(1, 6) === 1) {
                    $page = \random_int(0, Site::PAGES - 1);
                    $purges[] = [$page, $site->change($page), $site->purge($page)];
                }
                \random_int(1, 300) === 1 && $site->killAWorker();
                $this->fillOrFree();
            }
            foreach ($purges as $key => [$page, $version, $purge]) {
                if ($purge->hasAnswer()) {
                    $this->purged($page, $version, $purge->answer());
                    unset($purges[$key]);
                }
            }
            foreach ($visits as $key => [$page, $member, $least, $visit]) {
                if ($visit->hasAnswer()) {
                    $this->check($page, $member, $least, $visit->answer());
                    unset($visits[$key]);
                }
            }
            \usleep(200);
        }
        $text = \json_encode($this->counts) . $site->log();
        self::assertGreaterThan(0, $this->counts['hit'], $text);
        self::assertGreaterThan(0, $this->counts['purged'], $text);
        self::assertStringNotContainsString('PHP Warning', $text);
        self::assertStringNotContainsString('PHP Notice', $text);
        self::assertStringNotContainsString('PHP Deprecated', $text);
        if ($seconds > 60.0) {
            \fwrite(\STDERR, "\n$store: " . \json_encode($this->counts) . "\n");
        }
    }

    /** @return array{int, ?string, int, Question} */
    private function visit(Site $site): array
    {
        $page = \random_int(0, Site::PAGES - 1);
        $member = \random_int(1, 8) === 1 ? 'member' . \random_int(1, 3) : null;
        $variables = $member === null ? [] : ['HTTP_COOKIE' => "member=$member"];
        if (\random_int(1, 10) === 1) {
            $variables['HTTP_X_FATE'] = ['fail', 'die', 'session'][\random_int(0, 2)];
        }

        return [$page, $member, $this->least[$page] ?? 0, $site->ask($page, $variables)];
    }

    private function purged(int $page, int $version, ?FastCgiResponse $answer): void
    {
        if ($answer?->body === 'purged') {
            $this->least[$page] = \max($this->least[$page] ?? 0, $version);
        }
        $this->counts[$answer === null ? 'killed' : ($answer->body === 'purged' ? 'purged' : 'kept')]++;
    }

    private function check(int $page, ?string $member, int $least, ?FastCgiResponse $answer): void
    {
        if ($answer === null) {
            $this->counts['killed']++;

            return;
        }
        $text = \substr($answer->body, 0, 200) . "\n" . \json_encode($answer->headers) . "\n$answer->errors";
        if (isset($answer->headers['retry-after'])) {
            self::assertSame(503, $answer->status, $text);
            $this->counts['busy']++;

            return;
        }
        $status = $answer->headers['cache-status'][0] ?? '';
        $this->counts['hit'] += (int) \str_contains($status, 'hit');
        $this->counts['stored'] += (int) \str_contains($status, 'stored');
        if ($member !== null) {
            self::assertSame("page $page of $member end", $answer->body, $text);

            return;
        }
        if ($answer->status === 500) {
            // The application's own, made for this visitor.
            self::assertStringNotContainsString('hit', $text);

            return;
        }
        self::assertSame(200, $answer->status, $text);
        self::assertMatchesRegularExpression("/^page $page version (\\d+) \\.* end$/D", $answer->body, $text);
        self::assertGreaterThanOrEqual($least, (int) \explode(' ', $answer->body)[3], $text);
        self::assertFalse(\str_contains($status, 'hit') && isset($answer->headers['set-cookie']), $text);
    }

    /** @return array<string, mixed> */
    private function store(string $store): array
    {
        $this->parent = new TemporaryDirectory();
        if ($store === 'redis') {
            $this->redis = new RedisServer();

            return ['far' => 'redis://' . $this->redis->socket];
        }
        \mkdir($directory = $this->parent->path . '/small', 0o700);
        if (\posix_geteuid() === 0) {
            \exec('mount -t tmpfs -o size=24m,mode=0700 larder ' . \escapeshellarg($directory) . ' 2>&1', $said, $status);
            $this->mounted = $status === 0 ? $directory : null;
        }

        return ['disk' => "$store://$directory/cache", 'near' => 'none'];
    }

    private function fillOrFree(): void
    {
        if ($this->mounted === null || \hrtime(true) < $this->turn) {
            return;
        }
        $filler = "$this->mounted/filler";
        if (\is_file($filler)) {
            \unlink($filler);
            $this->turn = \hrtime(true) + \random_int(4_000_000_000, 10_000_000_000);

            return;
        }
        $this->turn = \hrtime(true) + \random_int(500_000_000, 3_000_000_000);
        $this->counts['full']++;
        \set_error_handler(static fn(): bool => true);
        \file_put_contents($filler, \str_repeat('x', 32 << 20));
        \restore_error_handler();
    }
}
