<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\System\Clock;
use Larder\System\Failure;
use Larder\System\Quiet;

/** Iterates over whole servers, for the command line. */
final class Dump
{
    /** Tries while another crawler is at work. */
    private const TRIES = 50;

    public function __construct(private readonly Servers $servers, private readonly Keys $keys) {}

    /**
     * The names of this epoch's records, a few at a time.
     *
     * Fetches all of a server's names first (into a temporary file if they are many), because a slow reader would stop the
     * server's crawler for everybody.
     *
     * @return iterable<non-empty-list<string>>
     *
     * @throws Failure
     */
    public function names(): iterable
    {
        for ($server = 0; $server < $this->servers->count; $server++) {
            $found = \fopen('php://temp', 'w+');
            if ($found === false) {
                throw Failure::because('memcached', 'cannot create a temporary file');
            }
            foreach ($this->ask($server, 'lru_crawler metadump all') as $line) {
                // key=<percent-encoded> exp=... la=... cas=...
                $name = \rawurldecode(\substr($line, 4, (int) \strpos($line . ' ', ' ') - 4));
                if ($this->keys->isRecord($name)) {
                    \fwrite($found, $name . "\n");
                }
            }
            \rewind($found);
            $names = [];
            while (($line = \fgets($found)) !== false) {
                $names[] = \substr($line, 0, -1);
                if (\count($names) === 100) {
                    yield $names;
                    $names = [];
                }
            }
            \fclose($found);
            if ($names !== []) {
                yield $names;
            }
        }
    }

    /**
     * Totals of the whole servers: memcached does not count by prefix.
     *
     * @return array{entries: int, bytes: int, budget: int}
     *
     * @throws Failure
     */
    public function totals(): array
    {
        $sum = ['curr_items' => 0, 'bytes' => 0, 'limit_maxbytes' => 0];
        for ($server = 0; $server < $this->servers->count; $server++) {
            $this->servers->begin();
            $batch = new Batch($this->servers);
            $batch->stats($server);
            $batch->run();
            foreach ($sum as $name => $value) {
                $sum[$name] = $value + (int) ($batch->stats[$name] ?? 0);
            }
        }

        return ['entries' => $sum['curr_items'], 'bytes' => $sum['bytes'], 'budget' => $sum['limit_maxbytes']];
    }

    /** @return iterable<string> the lines of the answer */
    private function ask(int $server, string $command): iterable
    {
        $this->servers->begin();
        // A socket of its own, since the crawler occupies it until it has ended.
        $connection = $this->servers->another($server);
        Quiet::begin();
        try {
            for ($try = 0; ; $try++) {
                $connection->send($command . "\r\n", false, $this->servers->end());
                $line = $connection->line();
                if (!\str_starts_with($line, 'BUSY') || $try === self::TRIES) {
                    break;
                }
                Clock::pause(20_000);
            }
            // Newer servers say so before the first line.
            $line = $line === 'OK' ? $connection->line() : $line;
            while ($line !== 'END') {
                if (!\str_starts_with($line, 'key=')) {
                    throw $connection->failure('answered "' . \substr($line, 0, 80) . '" to ' . $command);
                }
                yield $line;
                // The caller has taken its time, and the server has many keys.
                $connection->extend($this->servers->end());
                $line = $connection->line();
            }
        } finally {
            Quiet::end();
            $connection->drop();
        }
    }
}
