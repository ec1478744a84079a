<?php

// Keeps some connections to one php-fpm busy, so that its requests overlap, until enough was done. Says on its
// output how many calls there were, and where a request hangs.

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Support\FastCgi;
use Larder\Tests\Support\FastCgiFailure;

require __DIR__ . '/../../vendor/autoload.php';

[, $json, $socket, $seed, $until, $most, $count] = $argv;
/** Seconds after which a request counts as hanging. */
const PATIENCE = 8.0;

$settings = Settings::from((array) \json_decode($json, true));
$query = $settings->toArray();
$seed = (int) $seed;
$calls = $lost = $said = 0;
/** @var list<FastCgi> $connections */
$connections = [];
$sent = [];
for ($i = 0; $i < (int) $count; $i++) {
    $connections[] = new FastCgi($socket, PATIENCE + 2.0);
}
$finish = static function () use (&$calls, $most, $until): bool {
    return $calls >= (int) $most || \hrtime(true) >= (int) $until;
};
do {
    foreach ($connections as $i => $connection) {
        if (!isset($sent[$i]) && !$finish()) {
            try {
                $connection->send(__DIR__ . '/page.php', ['seed' => $seed++] + $query);
                $sent[$i] = \hrtime(true);
            } catch (FastCgiFailure) {
                $lost++;
                \usleep(20_000);
            }
        }
    }
    $streams = [];
    foreach ($connections as $i => $connection) {
        if (isset($sent[$i]) && $connection->readable() !== null) {
            $streams[$i] = $connection->readable();
        }
    }
    $none = null;
    if ($streams !== [] && \stream_select($streams, $none, $none, 0, 200_000) > 0) {
        foreach (\array_keys($streams) as $i) {
            try {
                $calls += (int) $connections[$i]->receive()->body;
            } catch (FastCgiFailure) {
                // The worker was killed.
                $lost++;
            }
            unset($sent[$i]);
        }
    }
    foreach ($sent as $i => $since) {
        if (\hrtime(true) - $since > PATIENCE * 1e9) {
            $connections[$i]->close();
            unset($sent[$i]);
            $lost++;
            echo "hang\n";
        }
    }
    if (\hrtime(true) > $said + 200_000_000) {
        $said = \hrtime(true);
        echo $calls, ' ', $lost, "\n";
    }
} while ($sent !== [] || !$finish());
foreach ($connections as $connection) {
    $connection->close();
}
echo $calls, ' ', $lost, "\nend\n";
