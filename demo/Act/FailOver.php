<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;
use Larder\Demo\Visit;
use Larder\Tests\Support\RedisCluster;

final class FailOver implements Act
{
    private const PRODUCTS = 40;
    private const VISITORS = 2;

    /** Seconds under load before the primary is killed, and after it is served again. */
    private const BEFORE = 3.0;
    private const AFTER = 4.0;

    /** Seconds for which its replica is cut off before: what the primary confirms in them is lost. */
    private const LAG = 0.5;

    /** Milliseconds after which the nodes of the cluster call one of them dead; 15,000 is what a new Redis has. */
    private const TIMEOUT = 2_000;

    public function title(): string
    {
        return 'The primary of a cluster is killed, and the shop goes on';
    }

    public function needs(): array
    {
        return [Part::Fpm, Part::Redis, Part::Sqlite];
    }

    public function play(Stage $stage): void
    {
        $stage->say('Three primaries and three replicas. Two php-fpm masters, as on two servers' . ($stage->nearName() === '' ? '' : ', each with ' . $stage->nearName()) . ', show the prices of ' . self::PRODUCTS . ' products to visitors; an office changes prices all the while. Each price only grows, so that an old one shows. Then the primary that has the cache gets kill -9, when its replica has been cut off for ' . self::LAG . ' s and lacks what was confirmed last. cluster-node-timeout is ' . self::TIMEOUT . ' ms here.');
        $cluster = new RedisCluster(replicas: true, config: ['cluster-node-timeout' => (string) self::TIMEOUT]);
        try {
            $this->sell($stage, $cluster);
        } finally {
            $cluster->stop();
        }
    }

    private function sell(Stage $stage, RedisCluster $cluster): void
    {
        $shop = $stage->file('shop.db');
        $database = new \PDO("sqlite:$shop");
        $database->exec('PRAGMA journal_mode = WAL; CREATE TABLE products(id INTEGER PRIMARY KEY, price INTEGER)');
        for ($i = 1; $i <= self::PRODUCTS; $i++) {
            $database->exec("INSERT INTO products VALUES($i, 1000)");
        }
        $webs = $sockets = $dsns = [];
        foreach (['A', 'B'] as $name) {
            // A worker for each visitor, and for the office.
            $webs[] = $web = $stage->web("server $name", self::VISITORS + 1);
            $sockets[] = $web->socket();
            $dsns[] = $cluster->dsn(\implode('&', ['timeout=1', ...$stage->near($name)]));
        }
        $stop = $stage->file('stop');
        $common = ['shop' => $shop, 'products' => self::PRODUCTS, 'stop' => $stop];
        $people = $logs = [];
        foreach ($sockets as $i => $socket) {
            for ($n = 0; $n < self::VISITORS; $n++) {
                $logs[] = $log = $stage->file("visits-$i-$n");
                $people[] = $stage->php('visitor.php', '', $common + ['sockets' => $socket, 'dsns' => $dsns[$i], 'pause' => 8, 'log' => $log]);
            }
        }
        $office = $stage->file('changes');
        $people[] = $stage->php('visitor.php', '', $common + ['sockets' => \implode("\n", $sockets), 'dsns' => \implode("\n", $dsns), 'pause' => 50, 'log' => $office, 'change' => 'change']);

        $begun = \hrtime(true);
        $stage->await(static fn(): bool => \hrtime(true) - $begun > self::BEFORE * 1e9);
        $owner = $cluster->owner('larder');
        $replica = $cluster->replica($owner) ?? throw new \RuntimeException('The primary has no replica.');
        // A password that the primary does not ask for: it is refused, and cannot come back.
        $replica->command('CONFIG', 'SET', 'masterauth', 'none-is-asked-for');
        $replica->command('CLIENT', 'KILL', 'TYPE', 'master');
        $cut = \hrtime(true);
        $stage->await(static fn(): bool => \hrtime(true) - $cut > self::LAG * 1e9 && \str_contains($owner->info('replication'), 'connected_slaves:0'));
        $killed = \hrtime(true);
        $owner->kill();
        $replica->command('CONFIG', 'SET', 'masterauth', '');
        $stage->step('cluster', "(kill -9 for the primary at 127.0.0.1:$owner->port)");
        $served = null;
        $stage->await(static function () use ($logs, $killed, &$served): bool {
            $served = self::firstFromCache(Visit::read($logs), $killed);

            return $served !== null;
        });
        $stage->step('cluster', "(a replica has taken over: 127.0.0.1:{$cluster->owner('larder')->port})");
        $stage->await(static fn(): bool => \hrtime(true) - (int) $served > self::AFTER * 1e9);
        \touch($stop);
        foreach ($people as $one) {
            $one->wait(Stage::PATIENCE) === 0 || throw new \RuntimeException($one->errors());
        }
        $report = new FailOverReport(Visit::read($logs), Visit::read([$office]), $killed, (int) $served);
        $stage->table(['second', 'answers', 'from the cache', 'computed', 'slowest', 'old'], $report->seconds());
        $stage->line();
        $stage->step('before', 'last answer from the cache', $report->lastBefore());
        $stage->step('after', 'served from the cache again', $report->servedAfter());
        $stage->step('office', $report->changes());
        $stage->step('visitors', $report->answers());
        $stage->claim($report->failed() === 0, $report->failed() === 0 ? 'every request was answered' : $report->failed() . ' requests FAILED');
        $stage->claim($report->old === 0, 'values that were old: ' . $report->old);
        foreach ($webs as $web) {
            $web->stop();
        }
    }

    /** @param list<Visit> $visits */
    private static function firstFromCache(array $visits, int $killed): ?int
    {
        $ends = [];
        foreach ($visits as $visit) {
            if ($visit->begun > $killed && $visit->price !== null && !$visit->isComputed) {
                $ends[] = $visit->ended;
            }
        }

        return $ends === [] ? null : \min($ends);
    }
}
