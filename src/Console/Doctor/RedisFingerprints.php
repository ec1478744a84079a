<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\StoreFactory;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\System\Failure;

/**
 * Finds web servers that have another prefix or another secret: each doctor leaves a note beside the cache, `<prefix>:doctor`,
 * with its host's name and a fingerprint of its secret.
 *
 * The fingerprint is 8 digits of a slow hash: enough to tell two secrets apart, and too little to find one by. It goes after a
 * month.
 */
final class RedisFingerprints
{
    /** Milliseconds. */
    private const LIFE = '2592000000';

    private const ROUNDS = 200_000;

    /** Seconds that other prefixes are looked for. */
    private const SEARCH = 1.0;

    /** @return iterable<Finding> */
    public static function findings(Place $place, RedisNodes $nodes): iterable
    {
        $options = $place->options;
        $base = $options->truth->hasSlots() ? '{' . $options->prefix . '}' : $options->prefix;
        $own = $options->secret === null ? '' : \hash_pbkdf2('sha256', $options->secret, "larder doctor $options->prefix", self::ROUNDS, 8);
        $host = \php_uname('n');
        $now = \time();
        $connection = StoreFactory::redis($options->truth, $nodes->timeout, tag: $options->prefix, credentials: $options->credentials);
        try {
            $connection->begin();
            // MGET gives a list: a missing key alone looks like an error to phpredis.
            $reply = $connection->call([['MGET', "$base:doctor"]])[0];
            $notes = self::notes(\is_array($reply) ? $reply[0] ?? null : null, $now);
            $connection->call([['SET', "$base:doctor", \json_encode([$host => [$own, $now]] + $notes, \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE), 'PX', self::LIFE]]);
        } catch (Failure) {
            // The truth tier has said why.
            return;
        } finally {
            $connection->close();
        }
        $different = \array_filter($notes, static fn(array $note): bool => $note[0] !== $own);
        if ($different !== []) {
            $names = [];
            foreach ($different as $name => [$theirs, $at]) {
                $names[] = Text::line((string) $name) . ($theirs === '' ? ' (none' : ' (another') . ', ' . Text::seconds($now - $at) . ' ago)';
            }
            yield Finding::fail('secret', ($own === '' ? 'this server has none, unlike ' : 'this server\'s is not that of ') . \implode(', ', $names), 'Give all servers the same option "secret": what one has signed, the others do not read. If you have just changed it, run doctor on each of them.');
        } elseif (\count($notes) > (int) isset($notes[$host])) {
            yield Finding::ok('secret', 'the same as on ' . \implode(', ', \array_map(static fn(int|string $name): string => Text::line((string) $name), \array_keys(\array_diff_key($notes, [$host => 0])))));
        }
        yield from self::others($place, $nodes, "$base:doctor");
    }

    /**
     * Other prefixes on the same servers. They may be other sites.
     *
     * @return iterable<Finding>
     */
    private static function others(Place $place, RedisNodes $nodes, string $own): iterable
    {
        $found = [];
        $end = \hrtime(true) + self::SEARCH * 1e9;
        foreach ($nodes->connections() as $connection) {
            try {
                $cursor = '0';
                do {
                    [$cursor, $names] = $connection->page($connection->call([['SCAN', $cursor, 'MATCH', '*:doctor', 'COUNT', '1000']])[0]);
                    \array_push($found, ...$names);
                } while ($cursor !== '0' && \hrtime(true) < $end);
            } catch (Failure) {
                // Its user may not ask.
            } finally {
                $connection->close();
            }
        }
        $others = \array_map(static fn(string $name): string => Text::line(\trim(\substr($name, 0, -\strlen(':doctor')), '{}')), \array_values(\array_diff(\array_unique($found), [$own])));
        if ($others !== []) {
            \sort($others);
            yield Finding::note('other prefixes', \implode(', ', $others) . ': another cache each, which doctor has looked at in the last month. If one is of this site (' . $place->options->prefix . '), give all its servers the same prefix');
        }
    }

    /** @return array<array-key, array{string, int}> fingerprint and time by host */
    private static function notes(mixed $text, int $now): array
    {
        $notes = [];
        $read = \is_string($text) ? \json_decode($text, true) : null;
        foreach (\is_array($read) ? $read : [] as $host => $note) {
            if (\is_array($note) && \is_string($note[0] ?? null) && \is_int($note[1] ?? null) && $note[1] <= $now + 86_400 && $now - $note[1] < 2_592_000) {
                $notes[$host] = [$note[0], $note[1]];
            }
        }

        return $notes;
    }
}
