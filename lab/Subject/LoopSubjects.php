<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Subject;

/**
 * The subjects of the scenario `loop`: those of `engines`, with plain strings, which nothing has to serialize.
 *
 * What a subject needs, its server and its parameters are taken from EngineSubjects, so that both scenarios measure
 * the same thing.
 */
final class LoopSubjects
{
    /**
     * Name => the subject of `engines` that it is made of, and the parameters in which it differs.
     *
     * The request tier lies over SQLite here, as in an application that says nothing else: with nothing below it,
     * the value would be gone with the connection, and connect, get and close would time a miss.
     */
    private const OF = [
        'redis:socket' => ['redis:socket:none', []],
        'redis:tcp' => ['redis:tcp:none', []],
        'predis:socket' => ['predis:socket:none', []],
        'predis:tcp' => ['predis:tcp:none', []],
        'memcached:socket' => ['memcached:socket:php', []],
        'memcached:tcp' => ['memcached:tcp:php', []],
        'apcu:process' => ['apcu:process:php', []],
        'files:process' => ['files:process:php', ['raw' => 1]],
        'larder-request:process' => ['larder-sqlite:process:php', ['tier' => 'request']],
        'larder-apcu:process' => ['larder-apcu:process:php', []],
        'larder-segment:process' => ['larder-segment:process:php', []],
        'larder-sqlite:process' => ['larder-sqlite:process:php', []],
        'larder-redis:socket' => ['larder-redis:socket:php', []],
    ];

    /** @return list<Subject> */
    public static function all(): array
    {
        $engines = \array_column(EngineSubjects::all(), null, 'name');
        $subjects = [];
        foreach (self::OF as $name => [$engine, $parameters]) {
            $subjects[] = self::plain($name, $engines[$engine], $parameters);
        }

        return $subjects;
    }

    /** @param array<string, string|int> $different */
    private static function plain(string $name, Subject $of, array $different): Subject
    {
        $engine = \explode(':', $name)[0];
        if (isset($of->parameters['prefix'])) {
            // Not what `engines` has left in the same server.
            $different['prefix'] = "loop-$engine";
        }

        $plain = $of->engine === 'apcu' ? [] : ['serializer' => 'none'];

        return $of->with(name: $name, engine: $engine, serializer: 'none', parameters: $different + $plain + $of->parameters);
    }
}
