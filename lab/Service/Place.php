<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** The loopback of this machine, and sockets: where servers are. */
final class Place
{
    /** Seconds; who asks asks again. */
    private const PATIENCE = 0.5;

    /** A port that nobody listens on at this moment. */
    public static function freePort(): int
    {
        $warning = '';
        $socket = Silence::of(static fn() => \stream_socket_server('tcp://127.0.0.1:0'), $warning);
        if ($socket === false) {
            throw new ServiceFailure("There is no free port on 127.0.0.1: $warning.");
        }
        $name = (string) \stream_socket_get_name($socket, false);
        \fclose($socket);

        return (int) \substr($name, (int) \strrpos($name, ':') + 1);
    }

    /**
     * Asks a server that closes the connection when it has answered.
     *
     * @param string $address "tcp://127.0.0.1:6379", "unix:///tmp/socket"
     *
     * @return string '' where nobody listens
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
