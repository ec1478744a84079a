<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Cache;
use Larder\Config\Dsn;
use Larder\Config\SegmentPlace;
use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;
use Larder\Demo\Traces;
use Larder\Lab\Payload\Payloads;
use Larder\Lab\Statistics\Summary;
use Larder\Lab\Worker\Values;
use Larder\Tests\Support\MemcachedServer;

final class Times implements Act
{
    private const SAMPLES = 200;

    /** Gets of the request tier a sample: one alone takes no longer than the look at the clock. */
    private const TURNS = 2_000;

    private bool $right = true;

    public function title(): string
    {
        return 'How long the tiers take, here and now';
    }

    public function needs(): array
    {
        return [];
    }

    public function play(Stage $stage): void
    {
        $stage->say(\sprintf('Microseconds, median of %d different keys, in one process. A get is the first one of its key in a request; the request tier is what every further one costs. Redis and Memcached are asked over Unix sockets.', self::SAMPLES));
        $rows = [$this->row('request tier', 'memory://', true)];
        if (Part::Segment->isHere() && Part::Sqlite->isHere()) {
            // A request holds an eighth of a segment in place, and copies what it reads beyond.
            $bytes = \min(16 * self::SAMPLES << 20 >> 3, (int) (\disk_free_space(\dirname(SegmentPlace::path(new Dsn('segment')))) / 2)) >> 20;
            $rows[] = $this->row('segment, near before SQLite', $stage->disk('segment', ['near=' . \rawurlencode('segment://' . SegmentPlace::path(new Dsn('segment')) . '-large?bytes=' . $bytes . 'M')]));
        } elseif (!Part::Segment->isHere()) {
            $stage->skip(Part::Segment, 'A row is');
        }
        if (Part::Apcu->isHere() && Part::Sqlite->isHere()) {
            $rows[] = $this->row('APCu, near before SQLite', $stage->disk('near', ['near=apcu']));
        }
        if (Part::Sqlite->isHere()) {
            $rows[] = $this->row('SQLite', 'sqlite://' . $stage->file('sqlite') . '?near=none&' . Stage::TIMEOUT);
        }
        $rows[] = $this->row('files', 'file://' . $stage->file('files') . '?near=none&' . Stage::TIMEOUT);
        foreach ($this->servers($stage) as $name => $dsn) {
            Traces::note($dsn);
            $rows[] = $this->row($name, $dsn);
        }
        $stage->table(['', 'get short', 'set short', 'get 50x50 array', 'set 50x50 array'], $rows);
        $stage->line();
        foreach ([Part::Apcu, Part::Sqlite, Part::Redis, Part::PhpRedis, Part::Predis, Part::Memcached] as $part) {
            if (!$part->isHere()) {
                $stage->skip($part, 'A row is');
            }
        }
        $stage->claim($this->right, 'every value came back as it was');
        $stage->line('   These are figures of a single run. "make bench" measures properly, both sides interleaved.');
    }

    /** @return iterable<string, string> DSN by name, while the server runs */
    private function servers(Stage $stage): iterable
    {
        if (Part::Redis->isHere()) {
            $socket = $stage->redis()->socket;
            if (Part::PhpRedis->isHere()) {
                yield 'Redis, by phpredis' => 'redis://' . $socket . '?near=none&' . Stage::TIMEOUT;
            }
            if (Part::Predis->isHere()) {
                yield 'Redis, by Predis' => 'predis://' . $socket . '?near=none&' . Stage::TIMEOUT;
            }
        }
        if (Part::Memcached->isHere()) {
            $server = new MemcachedServer();
            try {
                yield 'Memcached' => 'memcached://' . $server->address[0] . '?near=none&' . Stage::TIMEOUT;
            } finally {
                $server->end();
            }
        }
    }

    /** @return non-empty-list<string> */
    private function row(string $name, string $dsn, bool $again = false): array
    {
        $cache = Cache::open($dsn);
        $cells = [];
        foreach (['short', '50x50'] as $kind) {
            $value = (new Values(Payloads::get($kind)))->of(...);
            $set = $get = [];
            for ($i = -20; $i < self::SAMPLES; ++$i) {
                $stored = $value($i + 20);
                $start = \hrtime(true);
                $cache->set("$kind $i", $stored);
                $set[] = (\hrtime(true) - $start) / 1000;
            }
            $again || $cache->refresh();
            for ($i = -20; $i < self::SAMPLES; ++$i) {
                $get[] = $again ? $this->turns($cache, "$kind $i") : $this->once($cache, "$kind $i", $found);
                $this->right = $this->right && ($again ? $cache->get("$kind $i") : $found) === $value($i + 20);
            }
            // The first ones load classes and open connections.
            foreach ([$get, $set] as $times) {
                $times = \array_slice($times, 20);
                $cells[] = $times === [] ? '' : self::microseconds((new Summary($times))->median);
            }
            $cache->flush();
        }

        return [$name, ...$cells];
    }

    private function once(Cache $cache, string $key, mixed &$found): float
    {
        $start = \hrtime(true);
        $found = $cache->get($key);

        return (\hrtime(true) - $start) / 1000;
    }

    private function turns(Cache $cache, string $key): float
    {
        $cache->get($key);
        $start = \hrtime(true);
        for ($i = 0; $i < self::TURNS; ++$i) {
            $cache->get($key);
        }

        return (\hrtime(true) - $start) / 1000 / self::TURNS;
    }

    private static function microseconds(float $time): string
    {
        return \sprintf($time < 10 ? '%.2f' : '%.0f', $time);
    }
}
