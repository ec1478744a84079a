<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** Where a server runs: on the loopback of this machine, or inside a network namespace. */
final readonly class Place
{
    /** Seconds; who asks asks again. */
    private const PATIENCE = 0.5;

    /**
     * @param string       $host   the address that servers listen on there
     * @param list<string> $inside words before the command of a server that shall run there
     * @param list<string> $guest  words before the command of a program that shall reach it
     */
    public function __construct(
        public string $host = '127.0.0.1',
        public array $inside = [],
        public array $guest = [],
    ) {}

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
     * @param string $address "tcp://192.0.2.1:6379", "unix:///tmp/socket"
     *
     * @return string '' where nobody listens
     */
    public function ask(string $address, string $question): string
    {
        if ($this->guest !== []) {
            return Command::run([...$this->guest, \PHP_BINARY, '-n', __DIR__ . '/ask.php', $address, $question])->output;
        }

        return self::answer($address, $question);
    }

    public static function answer(string $address, string $question): string
    {
        $code = 0;
        $message = '';
        \set_error_handler(static fn(): bool => true);
        try {
            $socket = \stream_socket_client($address, $code, $message, self::PATIENCE);
            if ($socket === false) {
                return '';
            }
            \stream_set_timeout($socket, 0, (int) (self::PATIENCE * 1e6));
            \fwrite($socket, $question);
            $answer = (string) \stream_get_contents($socket);
            \fclose($socket);

            return $answer;
        } finally {
            \restore_error_handler();
        }
    }
}
