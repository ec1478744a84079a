<?php

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Driver\Redis\PredisConnection;
use Larder\Store\Change;
use Larder\Store\Redis\RedisStore;
use Larder\Tests\Support\RedisServer;
use Predis\Client;

/*
 * Writes 20 kB over TCP loopback: plain Predis beside the store over Predis, and what made such a write take 40 ms.
 *
 *     php bench/predis-20k.php [--rounds=15] [--seed=1]
 *
 * Until PHP 7.4 a stream wrote at most 8 kB a system call (main/streams/streams.c, _php_stream_write_buffer), so that
 * a command of 20 kB left in three packets; the second waits for the acknowledgement of the first (Nagle, RFC 896),
 * which the server delays (RFC 1122 section 4.2.3.2; 40 ms on Linux), since it has nothing to answer yet. Now a
 * command leaves in one call, and where it does not, TCP_NODELAY lets its parts go. The last side writes as it was.
 */

require __DIR__ . '/../vendor/autoload.php';

$harness = Harness::fromArguments(\array_slice($argv, 1));
$server = new RedisServer();
$body = 'v' . \str_repeat('x', 20_479);

$plain = new Client(['scheme' => 'tcp', 'host' => '127.0.0.1', 'port' => $server->port]);
$store = new RedisStore(new PredisConnection($server->tcpEndpoint()), 'larder');
$change = new Change('k', $body, 'aaaaaaaaaaaa');

$packets = static function (bool $nodelay) use ($server, $body): \Closure {
    $context = \stream_context_create(['socket' => ['tcp_nodelay' => $nodelay]]);
    $socket = \stream_socket_client("tcp://127.0.0.1:$server->port", context: $context);
    if ($socket === false) {
        throw new \RuntimeException('The server cannot be reached.');
    }
    $parts = \str_split("*3\r\n\$3\r\nSET\r\n\$1\r\np\r\n$" . \strlen($body) . "\r\n$body\r\n", 8192);

    return static function (int $times) use ($socket, $parts): void {
        for ($i = 0; $i < $times; ++$i) {
            foreach ($parts as $part) {
                \fwrite($socket, $part);
            }
            \fgets($socket);
        }
    };
};

echo $harness->banner('bench/predis-20k.php');
echo $harness->compare(
    'set of 20 kB over TCP loopback',
    new Side(
        'Predis, plain',
        static function (int $times) use ($plain, $body): void {
            for ($i = 0; $i < $times; ++$i) {
                $plain->set('k', $body);
            }
        },
        check: static fn(): bool => (string) $plain->set('k', $body) === 'OK' && $plain->get('k') === $body,
    ),
    new Side(
        'the store over Predis: record, log and index',
        static function (int $times) use ($store, $change): void {
            for ($i = 0; $i < $times; ++$i) {
                $store->write([$change]);
            }
        },
        check: static fn(): bool => $store->write([$change])[0]->done && ($store->read(['k'])->records['k'] ?? null)?->body === $body,
    ),
    new Side('packets of 8 kB with TCP_NODELAY', $packets(true), times: 20),
    new Side('packets of 8 kB without it', $packets(false), times: 20),
)->table();
