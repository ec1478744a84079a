<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Driver\Redis\RedisConnection;
use Larder\Driver\Redis\Shards;
use Larder\System\Failure;
use Larder\System\WrongUser;

/** Reads the DSN and the options of what must not forget: queues, counters, locks, sessions and rate limits. */
final class KeepingDsn
{
    /** Options of all of them. */
    private const KNOWN = ['dsn', 'timeout', 'credentials', 'persist'];

    private const TIMEOUT = 5.0;

    /**
     * @param string|array<array-key, mixed> $source  a DSN, or an array with "dsn" and options; those of the DSN's query are added
     * @param list<string>                   $known   options besides those of all
     * @param string                         $example a DSN for messages
     *
     * @return array{Dsn, array<array-key, mixed>} without the options in the DSN
     *
     * @throws InvalidConfiguration
     */
    public static function read(#[\SensitiveParameter] string|array $source, array $known, string $example): array
    {
        $options = \is_string($source) ? ['dsn' => $source] : $source;
        $text = $options['dsn'] ?? null;
        if (!\is_string($text)) {
            throw InvalidConfiguration::wrongType('dsn', 'a DSN such as ' . $example, $text);
        }
        if ($text === '') {
            throw new InvalidConfiguration("The DSN is empty (is the variable that it comes from set?). Write for example $example.");
        }
        \PHP_SAPI === 'cli' || \str_starts_with($text, 'sqlite:') || \is_file(__DIR__ . '/../../classes/keeping-redis.php') && require __DIR__ . '/../../classes/keeping-redis.php';
        $dsn = Dsn::parse($text, Dsn::KEEPING);
        if ($dsn->scheme === 'sqlite' && $dsn->path === '') {
            // The default directory is each user's own, and what must stay would lie in several.
            throw InvalidConfiguration::malformed($text, 'it names no directory, and what must stay lies where you say', 'write for example ' . $example);
        }
        $options += $dsn->query;
        // Nothing is loaded to judge options where there are none.
        if (\count($options) === 1) {
            return [$dsn, $options];
        }
        InvalidConfiguration::refuseUnknown($options, [...$known, ...self::KNOWN]);
        self::replicas($dsn, $options);
        if (isset($options['credentials'])) {
            $credentials = Options::credentials($options['credentials']);
            if ($dsn->scheme === 'sqlite') {
                throw new InvalidConfiguration('The option "credentials" is for redis://. Leave it out: SQLite asks for none.');
            }
            // print_r() shows what a closure has, and closures below have the options.
            $options['credentials'] = new \SensitiveParameterValue($credentials);
        }
        // SQLite keeps what it has acknowledged in any case.
        isset($options['persist']) && Options::choice('persist', $options['persist'], ['required' => '']);

        return [$dsn, $options];
    }

    /**
     * Seconds that a call waits for other processes, or for the server.
     *
     * @param array<array-key, mixed> $options of read()
     *
     * @throws InvalidConfiguration
     */
    public static function timeout(array $options): float
    {
        return isset($options['timeout']) ? Options::seconds('timeout', $options['timeout'], '5') : self::TIMEOUT;
    }

    /**
     * The directory of sqlite://, which is made if it is not there.
     *
     * @param class-string<\RuntimeException> $as what is thrown where it cannot be had now
     *
     * @throws WrongUser
     */
    public static function directory(Dsn $dsn, string $as): string
    {
        try {
            Directory::prepare($dsn->path);
        } catch (Failure $failure) {
            throw new $as($failure->getMessage(), 0, $failure);
        }

        return $dsn->path;
    }

    /**
     * A connection as the options want it.
     *
     * @param array<array-key, mixed> $options of read()
     * @param float                   $timeout seconds for a call
     * @param string                  $tag     see StoreFactory::redis()
     */
    public static function redis(Dsn $dsn, #[\SensitiveParameter] array $options, float $timeout, string $tag, bool $isKept = false): RedisConnection
    {
        return StoreFactory::redis($dsn, $timeout, $isKept, $tag, StoreFactory::notes($dsn), self::credentials($options), isset($options['persist']));
    }

    /**
     * Connections for names of any number.
     *
     * @param array<array-key, mixed>         $options of read()
     * @param float                           $timeout seconds for a call
     * @param class-string<\RuntimeException> $as      what is thrown where a server cannot be reached, or refuses
     */
    public static function shards(Dsn $dsn, #[\SensitiveParameter] array $options, float $timeout, string $as): Shards
    {
        // It may tell a password, and print_r() shows what a closure has.
        $options = \array_diff_key($options, ['dsn' => true]);

        $connect = static fn(string $tag): RedisConnection => self::redis($dsn, $options, $timeout, $tag);
        if ($dsn->isSingle()) {
            // All slots lie behind one address.
            $one = $connect('');
            $connect = static fn(): RedisConnection => $one;
        }

        return new Shards($connect, $dsn->hasSlots(), $timeout, self::replicas($dsn, $options), $as);
    }

    /** @param array<array-key, mixed> $options of read() */
    private static function credentials(#[\SensitiveParameter] array $options): ?\Closure
    {
        $held = $options['credentials'] ?? null;
        $credentials = $held instanceof \SensitiveParameterValue ? $held->getValue() : null;

        return $credentials instanceof \Closure ? $credentials : null;
    }

    /**
     * The option "replicas", where it is known.
     *
     * @param array<array-key, mixed> $options
     *
     * @throws InvalidConfiguration
     */
    private static function replicas(Dsn $dsn, #[\SensitiveParameter] array $options): int
    {
        $replicas = isset($options['replicas']) ? Options::number('replicas', $options['replicas'], 0, '1', 100) : 0;
        if ($replicas > 0 && $dsn->scheme === 'sqlite') {
            throw new InvalidConfiguration('The option "replicas" is for redis://. Leave it out: SQLite has no replicas.');
        }

        return $replicas;
    }
}
