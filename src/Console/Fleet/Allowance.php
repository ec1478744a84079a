<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

/**
 * How much of each user's is looked at: one who makes names without end holds no command up, and fills no memory. What is left out
 * is noted, to be told. Users who are gone have one allowance together, since one user may own thousands of ids (subuid(5)).
 */
final class Allowance
{
    /** Names in caches' directories and paths in lists. */
    public const NAMES = 0;
    /** Lines of the answer. */
    public const THINGS = 1;
    /** Names in the directories that are searched. */
    public const SEARCHED = 2;

    private const GONE = -1;
    private const GONE_TIMES = 4;

    /** @var array<int, array<int, int>> by what and user */
    private array $used = [];

    /** @var array<int, array{int, ?string, string}> by user: his id, his name, and where something was left out first */
    public array $cut = [];

    /** @var array<int, int> */
    private readonly array $most;

    public function __construct(int $names = 50_000, int $things = 5_000, int $searched = 1_000_000)
    {
        $this->most = [self::NAMES => $names, self::THINGS => $things, self::SEARCHED => $searched];
    }

    /**
     * Uses one up.
     *
     * @param self::NAMES|self::THINGS|self::SEARCHED $what
     * @param ?string                                 $user null: no user has that id
     * @param string                                  $at   where
     *
     * @return bool false: none is left
     */
    public function one(int $what, int $uid, ?string $user, string $at): bool
    {
        return $this->use($what, $uid, $user, $at, static fn(): int => 1);
    }

    /**
     * The names in a directory, as far as its user has some left.
     *
     * @param self::NAMES|self::SEARCHED $what
     *
     * @return ?list<string> null: it cannot be read
     */
    public function names(int $what, int $uid, ?string $user, string $directory): ?array
    {
        $names = [];
        $this->use($what, $uid, $user, $directory, function (int $left) use (&$names, $what, $uid, $user, $directory): int {
            $most = \min(Files::MOST, $left);
            $names = Files::names($directory, $most);
            // Of a cache's directory that has too many by itself Inspection tells.
            \count($names ?? []) === $most && ($what === self::SEARCHED || $most < Files::MOST) && $this->cut($uid, $user, $directory);

            // An empty directory takes time too.
            return 1 + \count($names ?? []);
        });

        return $names;
    }

    /** @param \Closure(int): int $work how many it has used, of those that are left */
    private function use(int $what, int $uid, ?string $user, string $at, \Closure $work): bool
    {
        $who = $user === null ? self::GONE : $uid;
        // Root's own directories give a hostile user no more time.
        $most = $uid === 0 ? \PHP_INT_MAX : $this->most[$what] * ($user === null ? self::GONE_TIMES : 1);
        $used = $this->used[$what][$who] ?? 0;
        if ($used >= $most) {
            $this->cut($uid, $user, $at);

            return false;
        }
        $this->used[$what][$who] = $used + $work($most - $used);

        return true;
    }

    private function cut(int $uid, ?string $user, string $at): void
    {
        $this->cut[$user === null ? self::GONE : $uid] ??= [$uid, $user, $at];
    }
}
