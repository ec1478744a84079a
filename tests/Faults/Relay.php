<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\Process;

/**
 * A TCP port that leads to a unix socket, in a process of its own: a network that can be cut and mended while the server lives
 * on. Once a client has sent the word "slowly", all answers come a byte at a time.
 */
final class Relay
{
    private const PROGRAM = <<<'PHP'
        $listener = stream_socket_server('tcp://127.0.0.1:' . $argv[1], $code, $message, STREAM_SERVER_BIND | STREAM_SERVER_LISTEN, stream_context_create(['socket' => ['so_reuseport' => true]]));
        echo "ready\n";
        $other = [];
        $streams = [];
        $fromServer = [];
        $slowly = false;
        while (true) {
            $ready = [$listener, ...$streams];
            $none = null;
            stream_select($ready, $none, $none, 10);
            foreach ($ready as $stream) {
                if ($stream === $listener) {
                    $client = stream_socket_accept($listener, 0);
                    $server = stream_socket_client('unix://' . $argv[2]);
                    if ($client && $server) {
                        $streams[(int) $client] = $client;
                        $streams[(int) $server] = $server;
                        $other[(int) $client] = $server;
                        $other[(int) $server] = $client;
                        $fromServer[(int) $server] = true;
                    }
                    continue;
                }
                $to = $other[(int) $stream] ?? null;
                if ($to === null) {
                    continue;
                }
                $bytes = fread($stream, 65536);
                if ($bytes === '' || $bytes === false) {
                    unset($streams[(int) $stream], $streams[(int) $to], $other[(int) $stream], $other[(int) $to], $fromServer[(int) $stream], $fromServer[(int) $to]);
                    fclose($stream);
                    fclose($to);
                } elseif ($slowly && isset($fromServer[(int) $stream])) {
                    foreach (str_split($bytes) as $byte) {
                        usleep(1_000 * (int) $argv[3]);
                        if (!@fwrite($to, $byte)) {
                            break;
                        }
                    }
                } else {
                    $slowly = $slowly || str_contains($bytes, 'slowly');
                    fwrite($to, $bytes);
                }
            }
        }
        PHP;

    public readonly int $port;

    private ?Process $process = null;

    /** @param int $pause milliseconds between two bytes that come slowly */
    public function __construct(private readonly string $socket, private readonly int $pause = 6)
    {
        $probe = \stream_socket_server('tcp://127.0.0.1:0');
        $name = $probe === false ? '' : (string) \stream_socket_get_name($probe, false);
        $this->port = (int) \substr($name, (int) \strrpos($name, ':') + 1);
        $probe === false || \fclose($probe);
        $this->mend();
    }

    public function cut(): void
    {
        $this->process?->kill();
        $this->process = null;
    }

    public function mend(): void
    {
        $this->process = Process::snippet(self::PROGRAM, [(string) $this->port, $this->socket, (string) $this->pause]);
        $this->process->expect('ready');
    }
}
