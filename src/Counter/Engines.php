<?php

declare(strict_types=1);

namespace Larder\Counter;

use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\System\Failure;
use Larder\System\WrongUser;

/** Makes the engine that a DSN and options name; every default of a counter stands here. */
final class Engines
{
    private const KNOWN = ['synchronous', 'combine', 'persistent'];

    /**
     * @param string|array<array-key, mixed> $source
     *
     * @throws InvalidConfiguration|WrongUser|CounterFailure
     */
    public static function make(#[\SensitiveParameter] string|array $source, string $name): Engine
    {
        if ($name === '' || \strlen($name) > Engine::LONGEST_NAME) {
            throw new InvalidConfiguration('A counter\'s name has 1 to ' . Engine::LONGEST_NAME . ' bytes. Write for example page-views.');
        }
        [$dsn, $options] = KeepingDsn::read($source, self::KNOWN, 'sqlite:///var/lib/app/counters');
        $timeout = isset($options['timeout']) ? Options::seconds('timeout', $options['timeout'], '5') : Engine::TIMEOUT;
        $isCombined = isset($options['combine']) && Options::flag('combine', $options['combine']);
        $isFull = isset($options['synchronous']) && Options::choice('synchronous', $options['synchronous'], ['normal' => '', 'full' => '']) === 'full';
        $isKept = isset($options['persistent']) && Options::persistent($dsn, $options['persistent']);
        if ($dsn->scheme === 'sqlite') {
            return self::sqlite($dsn, $name, $isFull, $timeout, $isCombined);
        }
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            throw new InvalidConfiguration("\"{$dsn->toString()}\" cannot hold a counter, because it may forget. Write sqlite:///directory or redis://host; for a number that may vanish use Cache::increment().");
        }
        if ($isCombined || isset($options['synchronous'])) {
            throw new InvalidConfiguration('The option "' . ($isCombined ? 'combine' : 'synchronous') . '" is for sqlite:// counters. Leave it out: a Redis server counts in its memory, and its own configuration says what it keeps.');
        }
        $dsn->needs();

        return new RedisEngine(KeepingDsn::redis($dsn, $options, $timeout, ":$name", $isKept), $dsn->hasSlots() ? '{:' . $name . '}' : $name);
    }

    private static function sqlite(Dsn $dsn, string $name, bool $isFull, float $timeout, bool $isCombined): Engine
    {
        if ($isCombined && !SegmentPlace::isUsable()) {
            throw InvalidConfiguration::missingExtension('larder', 'The option "combine"');
        }
        $dsn->needs();
        $directory = KeepingDsn::directory($dsn, CounterFailure::class);
        try {
            $engine = new SqliteEngine($directory, $name, $isFull, $timeout);
            if (!$isCombined) {
                return $engine;
            }
            // A file of its own, beside that of the caches, which never evicts what is not written down yet.
            $file = \dirname(SegmentPlace::path(new Dsn('segment'))) . '/counters-' . \substr(\md5((string) \realpath($directory)), 0, 16);

            return new CombiningEngine(SegmentPlace::open(new Dsn('segment', $file, bytes: CombiningEngine::BYTES), CombiningEngine::BYTES), $engine, $name);
        } catch (Failure $failure) {
            throw new CounterFailure($failure->getMessage(), 0, $failure);
        }
    }
}
