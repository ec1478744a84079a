<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Chaos;

use Larder\Lab\Service\Silence;
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
 *
 * As soon as a purge has returned, somebody asks for its page, and mostly it is purged again while that is made.
 *
 * Ten minutes of it:
 *
 *     make test-long ARGS="--filter ChaosTest::testTenMinutesOfChaos"
 */
#[CoversNothing]
#[Group('slow')]
final class ChaosTest extends TestCase
{
    /** Requests under way at once. */
    private const AT_ONCE = 10;

    /** Purges of one page that follow one another, at the most. */
    private const ROUNDS = 6;

    /** Seconds without any answer after which it is asked whether php-fpm hangs, and after which Larder counts as hanging. */
    private const LONG = 10;
    private const TOO_LONG = 100;

    /** Of what happened, so much is told with a failure. */
    private const TOLD = 40;

    private ?Site $site = null;
    private ?RedisServer $redis = null;
    private ?TemporaryDirectory $parent = null;
    private ?string $mounted = null;

    /** When the disk is filled or freed next (hrtime). A store that failed is tried again after two seconds. */
    private int $turn = 0;

    /** @var array<int, int> the version that each page has at the least, for a purge of what was before has returned */
    private array $least = [];

    /** @var list<array{int, int, int}> purges to come: when (hrtime), the page, and how many more follow */
    private array $due = [];

    private int $start = 0;

    /** When the last answer came, and when it was last asked whether php-fpm hangs (hrtime). */
    private int $answered = 0;
    private int $healed = 0;

    /** @var array<int, list<string>> what happened last, by page */
    private array $events = [];

    /** @var array<string, int> */
    private array $counts = ['hit' => 0, 'stored' => 0, 'busy' => 0, 'killed' => 0, 'purged' => 0, 'kept' => 0, 'full' => 0];

    protected function tearDown(): void
    {
        $this->site?->stop();
        $this->redis?->stop();
        if ($this->mounted !== null) {
            \exec('umount ' . \escapeshellarg($this->mounted));
        }
        // Another test's may vanish meanwhile.
        foreach (\glob('/dev/shm/larder-serve-' . \posix_geteuid() . '-*/constants.php') ?: [] as $file) {
            if ($this->parent !== null && \str_contains((string) Silence::of(static fn(): string|false => \file_get_contents($file)), $this->parent->path)) {
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
        $this->chaos($store, $hasFastDoor, $servers, 2.0);
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
        $this->start = $this->answered = $start = \hrtime(true);
        // Where the machine was too slow for anything to happen, it gets more time.
        $isOn = fn(): bool => \hrtime(true) - $start < $seconds * 1e9 || (\min($this->counts['hit'], $this->counts['purged']) === 0 && \hrtime(true) - $start < 60e9);
        while ($isOn() || $visits !== [] || $purges !== [] || $this->due !== []) {
            if ($isOn() && \count($visits) < self::AT_ONCE) {
                $visits[] = $this->visit($site, \random_int(0, Site::PAGES - 1));
                if (\random_int(1, 20) === 1) {
                    $this->due[] = [0, \random_int(0, Site::PAGES - 1), \random_int(0, self::ROUNDS)];
                }
                \random_int(1, 300) === 1 && $site->killAWorker();
                $this->fillOrFree();
            }
            foreach ($this->due as $key => [$time, $page, $rounds]) {
                if (\hrtime(true) >= $time) {
                    unset($this->due[$key]);
                    $version = $site->change($page);
                    $by = ['tag', 'url', 'path'][\random_int(0, 2)];
                    $this->note($page, "version $version is there, and a purge by $by begins");
                    $purges[] = [$page, $version, $rounds, $site->purge($page, $by)];
                }
            }
            foreach ($purges as $key => [$page, $version, $rounds, $purge]) {
                if ($purge->hasAnswer()) {
                    unset($purges[$key]);
                    $this->answered = \hrtime(true);
                    $this->purged($page, $version, $purge->answer());
                    // One makes the page, and the other waits for it, or comes when it is there.
                    $visits[] = $this->visit($site, $page, isPlain: true);
                    $visits[] = $this->visit($site, $page, isPlain: true);
                    if ($rounds > 0 && $isOn()) {
                        $this->due[] = [\hrtime(true) + \random_int(0, 60_000_000), $page, $rounds - 1];
                    }
                }
            }
            foreach ($visits as $key => [$page, $member, $least, $visit]) {
                if ($visit->hasAnswer()) {
                    $this->answered = \hrtime(true);
                    $this->check($page, $member, $least, $visit->answer());
                    unset($visits[$key]);
                }
            }
            $now = \hrtime(true);
            if ($now - $this->answered > self::TOO_LONG * 1e9) {
                self::fail(\count($visits) . ' visits and ' . \count($purges) . " purges have no answer\n" . $site->log());
            }
            if ($now - \max($this->answered, $this->healed) > self::LONG * 1e9) {
                $this->healed = $now;
                $site->heal();
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
    private function visit(Site $site, int $page, bool $isPlain = false): array
    {
        $member = !$isPlain && \random_int(1, 8) === 1 ? 'member' . \random_int(1, 3) : null;
        $variables = $member === null ? [] : ['HTTP_COOKIE' => "member=$member"];
        if (!$isPlain && \random_int(1, 10) === 1) {
            $variables['HTTP_X_FATE'] = ['fail', 'die', 'session'][\random_int(0, 2)];
        }

        return [$page, $member, $this->least[$page] ?? 0, $site->ask($page, $variables)];
    }

    private function purged(int $page, int $version, ?FastCgiResponse $answer): void
    {
        $this->note($page, "the purge of what is older than version $version: " . ($answer->body ?? 'killed'));
        if ($answer?->body === 'purged') {
            $this->least[$page] = \max($this->least[$page] ?? 0, $version);
        }
        $this->counts[$answer === null ? 'killed' : ($answer->body === 'purged' ? 'purged' : 'kept')]++;
    }

    private function check(int $page, ?string $member, int $least, ?FastCgiResponse $answer): void
    {
        if ($answer === null) {
            $this->counts['killed']++;
            $this->note($page, 'a visitor\'s worker was killed');

            return;
        }
        $version = \preg_match('/^page \d+ version (\d+)/', $answer->body, $part) === 1 ? (int) $part[1] : null;
        $this->note($page, ($member ?? 'a visitor') . " who asked after version $least was purged for: status $answer->status, version " . ($version ?? 'none') . ', ' . ($answer->headers['cache-status'][0] ?? 'no Cache-Status'));
        $text = \sprintf("page %d, %.3f s after the beginning: version %d or later expected, %s served\n", $page, $this->seconds(), $least, $version ?? 'none')
            . \substr($answer->body, 0, 200) . "\n" . \json_encode($answer->headers) . "\n$answer->errors\n" . \json_encode($this->counts) . "\n" . \implode("\n", $this->events[$page]);
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
            self::assertFalse(\str_contains($status, 'hit'), $text);

            return;
        }
        self::assertSame(200, $answer->status, $text);
        self::assertMatchesRegularExpression("/^page $page version (\\d+) \\.* end$/D", $answer->body, $text);
        self::assertGreaterThanOrEqual($least, $version, $text);
        self::assertFalse(\str_contains($status, 'hit') && isset($answer->headers['set-cookie']), $text);
    }

    private function note(int $page, string $event): void
    {
        $this->events[$page] = [...\array_slice($this->events[$page] ?? [], 1 - self::TOLD), \sprintf('%8.3f s  %s', $this->seconds(), $event)];
    }

    private function seconds(): float
    {
        return (\hrtime(true) - $this->start) / 1e9;
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
