<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Config\InvalidConfiguration;
use Larder\System\Quiet;

/**
 * Caches in front of this server that keep pages by their tags, as Varnish with the configuration of `page:config`. Each page
 * names its tags in a field, and who purges tells them which to remove.
 *
 * Only what is answered from the store has the field: a page that was purged while it was made is not kept there either.
 */
final readonly class Proxies
{
    public const FIELD = 'Larder-Tags';

    /** A tag of every page. */
    public const ALL = "\0all";

    /** Seconds to connect, and to wait for an answer. */
    private const TIMEOUT = 1.0;

    /** @param list<string> $addresses "127.0.0.1:6081" */
    private function __construct(public array $addresses) {}

    /** @throws InvalidConfiguration */
    public static function from(mixed $given): self
    {
        $addresses = \is_array($given) ? \array_values(\array_filter($given, static fn(mixed $one): bool => \is_string($one) && \preg_match('/^(?:[\w.-]+|\[[0-9a-f:.]+\]):[0-9]{1,5}$/iD', $one) === 1)) : [];

        return \is_array($given) && \count($addresses) === \count($given) ? new self($addresses) : throw InvalidConfiguration::wrongType('proxies', 'a list of addresses, as "127.0.0.1:6081"', $given);
    }

    /**
     * @param list<string> $tags
     *
     * @return list<string> the line that a stored page has; none, if no proxy wants it
     */
    public function lines(array $tags): array
    {
        return $this->addresses === [] ? [] : [self::FIELD . ': ' . \implode(' ', self::hashes([self::ALL, ...$tags]))];
    }

    /**
     * @param list<string> $tags of pages
     *
     * @return bool false: a proxy could not be told
     */
    public function remove(array $tags): bool
    {
        $hashes = \implode('|', self::hashes($tags));
        $isDone = true;
        foreach ($this->addresses as $address) {
            $isDone = Quiet::call(static fn(): bool => self::ask($address, $hashes)) && $isDone;
        }

        return $isDone;
    }

    private static function ask(string $address, string $hashes): bool
    {
        $socket = \stream_socket_client("tcp://$address", $code, $message, self::TIMEOUT);
        if ($socket === false) {
            return false;
        }
        \stream_set_timeout($socket, (int) self::TIMEOUT);
        \fwrite($socket, "BAN / HTTP/1.1\r\nHost: larder\r\n" . self::FIELD . ": $hashes\r\nConnection: close\r\n\r\n");
        $status = (string) \fgets($socket, 64);
        \fclose($socket);

        return \preg_match('~^HTTP/1\.[01] 200 ~', $status) === 1;
    }

    /**
     * @param list<string> $tags
     *
     * @return list<string> all of one length, so that none is part of another
     */
    private static function hashes(array $tags): array
    {
        return \array_values(\array_unique(\array_map(static fn(string $tag): string => \substr(\hash('sha256', $tag), 0, 16), $tags)));
    }
}
