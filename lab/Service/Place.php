<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** The loopback of this machine, and sockets: where servers are. */
final class Place
{
    /** Seconds; who asks asks again. */
    private const PATIENCE = 0.5;

    /**
     * A port that no process listens on, and that the kernel gives to no other for the next minute.
     *
     * A connection that its server closed first keeps the port in TIME_WAIT: another bind to port 0 or another client's
     * connect() does not get it then, and a server that asks for it by number and SO_REUSEADDR, as all do, does.
     */
    public static function freePort(): int
    {
        $name = '';
        $warning = '';
        $isKept = Silence::of(static function () use (&$name): bool {
            $server = \stream_socket_server('tcp://127.0.0.1:0');
            $name = $server === false ? '' : (string) \stream_socket_get_name($server, false);
            $client = $name === '' ? false : \stream_socket_client("tcp://$name");
            $accepted = $server === false || $client === false ? false : \stream_socket_accept($server, self::PATIENCE);

            return $accepted !== false && \fclose($accepted) && \is_resource($client) && \fclose($client);
        }, $warning);
        if (!$isKept) {
            throw new ServiceFailure("There is no free port on 127.0.0.1: $warning.");
        }

        return (int) \substr($name, (int) \strrpos($name, ':') + 1);
    }

    /**
     * Asks a server that closes the connection when it has answered.
     *
     * @param string $address "tcp://127.0.0.1:6379", "unix:///tmp/socket"
     *
     * @return string '' where no process listens
     */
    public static function answer(string $address, string $question): string
    {
        return Silence::of(static function () use ($address, $question): string {
            $socket = \stream_socket_client($address, $code, $message, self::PATIENCE);
            if ($socket === false) {
                return '';
            }
            \stream_set_timeout($socket, 0, (int) (self::PATIENCE * 1e6));
            \fwrite($socket, $question);
            $answer = (string) \stream_get_contents($socket);
            \fclose($socket);

            return $answer;
        });
    }
}
