<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Cache;
use Larder\WordPress\ObjectCache;

/**
 * The same random calls to WordPress's own WP_Object_Cache, which forgets nothing, and to Larder's ObjectCache, which
 * forgets its request's memory again and again: both must answer the same.
 *
 * What they are not to have in common is done to WordPress's by hand: it has no groups that end with a request, it has no
 * flush of one site of a network, and it keeps what cannot be serialized.
 *
 * @phpstan-type Call array{string, list<mixed>}
 */
final class ObjectCacheComparison
{
    private const GROUPS = [
        '', 'default', null, false, 0, '0', 'posts', 'options', 'terms', 'users', 'site-options', 'transient', 'site-transient',
        'post-queries', 'product_cat_relationships', 'plugin', 'a plugin', 'volatile', '42', 'c', 'p', 's', 'g', '~larder',
        'posts:1', "a/b/../c", "nul\0", 'Ünïcode', 'GLOBAL', 'networks-plugin', 'e:s/c/posts', 'long long long long long',
    ];
    private const GLOBAL = ['users', 'site-options', 'site-transient', 'networks-plugin', 'volatile network'];
    private const VOLATILE = ['volatile', 'volatile network'];
    private const KEYS = [1, 2, '2', '0', 0, -1, '-1', '01', '1 ', ' lead', 'alloptions', 'last_changed', 'Schlüssel', "a\0b", 'a:b', 'a/b', 'A', 'a', '1.5', '9223372036854775807'];
    private const WRONG_KEYS = ['', ' ', "\t\n", null, 1.5, false, true];

    private readonly \WP_Object_Cache $theirs;
    private ObjectCache $ours;
    private int $blog = 1;

    /** @var list<mixed> a few that are called often for a while, so that calls meet */
    private array $groups = [];

    /** @var list<mixed> */
    private array $names = [];

    /** @var list<string> what was called */
    public array $calls = [];

    /**
     * @param array<string, string> $source  as Cache::open() takes it
     * @param bool                  $reopens whether each request opens the cache anew
     */
    public function __construct(private readonly array $source, private readonly bool $network, private readonly bool $reopens)
    {
        \LarderStandIns::$network = $network;
        $this->theirs = new \WP_Object_Cache();
        $this->theirs->add_global_groups(self::GLOBAL);
        $this->begin(Cache::open($source));
    }

    /** @return ?string where they differ */
    public function run(int $seed, int $calls): ?string
    {
        \mt_srand($seed);
        for ($number = 1; $number <= $calls; $number++) {
            if ($number % 300 === 1) {
                $this->groups = \array_map(static fn(): mixed => self::GROUPS[\mt_rand(0, \count(self::GROUPS) - 1)], [1, 2, 3, 4]);
                $this->names = \array_map(static fn(): mixed => self::KEYS[\mt_rand(0, \count(self::KEYS) - 1)], [1, 2, 3]);
            }
            $difference = $this->step();
            if ($difference !== null) {
                return "seed $seed, call $number: $difference\nafter\n  " . \implode("\n  ", \array_slice($this->calls, -600));
            }
        }

        return null;
    }

    private function begin(Cache $root): void
    {
        $this->ours = $GLOBALS['wp_object_cache'] = new ObjectCache($root);
        // As in a page, where a hit does not look at the clock.
        $this->ours->mask = 15;
        $this->ours->add_global_groups(self::GLOBAL);
        $this->ours->add_non_persistent_groups(self::VOLATILE);
        $this->ours->switch_to_blog($this->blog);
        $this->ours->cache_hits = $this->theirs->cache_hits;
        $this->ours->cache_misses = $this->theirs->cache_misses;
    }

    private function step(): ?string
    {
        $dice = \mt_rand(1, 1000);
        if ($dice <= 12) {
            return $this->next();
        }
        if ($dice <= 30) {
            $this->calls[] = 'flush_runtime';
            $this->ours->flush_runtime();
            $this->forget();

            return null;
        }
        if ($dice <= 45) {
            $this->calls[] = 'cache = []';
            $this->ours->cache = [];
            $this->forget(true);

            return null;
        }
        if ($dice <= 50) {
            $this->calls[] = 'flush';
            $this->theirsWithout(null);
            $this->forget();

            return $this->ours->flush() ? null : 'flush is false';
        }
        if ($dice <= 65) {
            $group = (string) $this->group() ?: 'default';
            $this->calls[] = "flush_group $group";
            $this->theirsWithout($group);

            return $this->ours->flush_group($group) ? null : "flush_group $group is false";
        }
        if ($dice <= 100 && $this->network) {
            $this->blog = \mt_rand(1, 3);
            $this->calls[] = "switch_to_blog $this->blog";
            $this->theirs->switch_to_blog($this->blog);
            $this->ours->switch_to_blog($this->blog);

            return null;
        }
        if ($dice <= 105) {
            \LarderStandIns::$suspended = !\LarderStandIns::$suspended;
            $this->calls[] = 'suspended: ' . \var_export(\LarderStandIns::$suspended, true);

            return null;
        }

        return $this->same(...$this->call());
    }

    private function next(): null
    {
        $this->calls[] = 'the next request';
        $this->ours->close();
        $root = $this->ours->larder();
        \assert($root !== null);
        if ($this->reopens) {
            unset($this->ours, $root, $GLOBALS['wp_object_cache']);
            \gc_collect_cycles();
            $root = Cache::open($this->source);
        } else {
            $root->refresh();
        }
        $this->begin($root);
        $this->forget();

        return null;
    }

    /** @return Call */
    private function call(): array
    {
        $group = $this->group();
        $expire = [0, 0, 0, 3600, '60', 1_000_000_000_000][\mt_rand(0, 5)];
        switch (\mt_rand(1, 20)) {
            case 1: case 2: case 3: case 4: case 5:
                return ['get', [$this->key(), $group, \mt_rand(1, 5) === 1]];
            case 6: case 7:
                return ['get_multiple', [$this->keys(), $group, \mt_rand(1, 5) === 1]];
            case 8: case 9: case 10:
                return ['set', [$this->key(), $this->value(), $group, $expire]];
            case 11:
                return ['set_multiple', [$this->values(), $group, $expire]];
            case 12: case 13: case 14:
                return ['add', [$this->key(), $this->value(), $group, $expire]];
            case 15:
                return ['add_multiple', [$this->values(), $group, $expire]];
            case 16:
                return ['replace', [$this->key(), $this->value(), $group, $expire]];
            case 17:
                return ['delete', [$this->key(), $group]];
            case 18:
                return ['delete_multiple', [$this->keys(), $group]];
            default:
                return [['incr', 'decr'][\mt_rand(0, 1)], [$this->key(), [1, 1, 2, -1, 0, 100, '3'][\mt_rand(0, 6)], $group]];
        }
    }

    /** @param list<mixed> $arguments */
    private function same(string $method, array $arguments): ?string
    {
        $this->calls[] = $method . ' ' . self::told($arguments);
        // Each its own: what the one does to an object is not the other's.
        $copy = self::copy($arguments);
        $answers = $told = $counts = [];
        foreach ([[$this->theirs, $arguments], [$this->ours, $copy]] as [$cache, $given]) {
            \LarderStandIns::$wrong = [];
            $found = null;
            $before = [$cache->cache_hits, $cache->cache_misses];
            if ($method === 'get') {
                $given[3] = &$found;
            }
            $answer = $method === 'get' && $cache === $this->ours ? \wp_cache_get(...$given) : $cache->{$method}(...$given);
            $answers[] = self::told([$answer, $found ?? false]);
            $told[] = \LarderStandIns::$wrong;
            $counts[] = [$cache->cache_hits - $before[0], $cache->cache_misses - $before[1]];
            // The caller does what it likes with what it gave and got; as a rule an object, or one value of many.
            foreach ([$answer, $given[1] ?? null] as $value) {
                if ($value instanceof \stdClass) {
                    $value->changed = 'by the caller';
                }
            }
        }
        if (\in_array($method, ['set', 'add', 'replace', 'set_multiple'], true) && \str_contains(self::told($arguments), '(not storable)')) {
            // Whether it was kept for the next request is what only Larder is asked.
            $answers = [];
        }

        return match (true) {
            ($answers[0] ?? '') !== ($answers[1] ?? '') => "$method: WordPress $answers[0], Larder $answers[1]",
            $told[0] !== $told[1] => "$method: WordPress complains " . \json_encode($told[0]) . ', Larder ' . \json_encode($told[1]),
            $counts[0] !== $counts[1] => "$method: WordPress counts " . \json_encode($counts[0]) . ', Larder ' . \json_encode($counts[1]),
            default => null,
        };
    }

    /** What ends with a request, of this site alone or of all. */
    private function forget(bool $here = false): void
    {
        $held = $this->theirs->cache;
        \assert(\is_array($held));
        foreach ($held as $group => $values) {
            $volatile = \in_array((string) $group, self::VOLATILE, true);
            $held[$group] = \array_filter((array) $values, fn(mixed $value, int|string $key): bool => ($here && !$this->isHere((string) $group, (string) $key))
                || !($volatile || \str_contains(self::told([$value]), '(not storable)')), \ARRAY_FILTER_USE_BOTH);
        }
        $this->theirs->cache = $held;
    }

    /** A group's keys, or all, of this site. */
    private function theirsWithout(?string $only): void
    {
        $held = $this->theirs->cache;
        \assert(\is_array($held));
        foreach ($held as $group => $values) {
            if ($only !== null && $only !== (string) $group) {
                continue;
            }
            $held[$group] = \array_filter((array) $values, fn(int|string $key): bool => !$this->isHere((string) $group, (string) $key), \ARRAY_FILTER_USE_KEY);
        }
        $this->theirs->cache = $held;
    }

    /** Whether a key of theirs is of this site, or global. */
    private function isHere(string $group, string $key): bool
    {
        return !$this->network || \in_array($group, self::GLOBAL, true) || \str_starts_with($key, "$this->blog:");
    }

    private function group(): mixed
    {
        return \mt_rand(1, 10) === 1 ? self::GROUPS[\mt_rand(0, \count(self::GROUPS) - 1)] : $this->groups[\mt_rand(0, \count($this->groups) - 1)];
    }

    private function key(): mixed
    {
        return match (\mt_rand(1, 25)) {
            1 => self::WRONG_KEYS[\mt_rand(0, \count(self::WRONG_KEYS) - 1)],
            2 => \str_repeat('long', \mt_rand(200, 300)),
            3, 4 => self::KEYS[\mt_rand(0, \count(self::KEYS) - 1)],
            default => $this->names[\mt_rand(0, \count($this->names) - 1)],
        };
    }

    /** @return list<mixed> that can be keys of an array */
    private function keys(): array
    {
        $keys = [];
        for ($left = \mt_rand(0, 5); $left > 0; $left--) {
            $key = $this->key();
            $keys[] = \is_string($key) || \is_int($key) ? $key : '';
        }

        return $keys;
    }

    /** @return array<array-key, mixed> */
    private function values(): array
    {
        $values = [];
        foreach ($this->keys() as $key) {
            $values[$key] = $this->value();
        }

        return $values;
    }

    private function value(int $depth = 0): mixed
    {
        $any = [
            static fn() => false, static fn() => null, static fn() => 0, static fn() => '', static fn() => true, static fn() => '0',
            static fn() => \mt_rand(-5, 100), static fn() => (string) \mt_rand(0, 9), static fn() => \mt_rand(0, 1000) / 8,
            static fn() => -0.0, static fn() => \NAN, static fn() => \INF, static fn() => 0.1 + 0.2, static fn() => \PHP_INT_MAX,
            static fn() => \str_repeat("\0\xff%ü", \mt_rand(1, 500)), static fn() => 'O:8:"stdClass":0:{}', static fn() => 'b:0;',
            static fn() => 'x', static fn() => [], static fn() => ['1' => 1, '01' => 2, -5 => 3, '' => null],
            fn() => $depth > 2 ? 1 : [$this->value($depth + 1), 'k' => $this->value($depth + 1)],
            /* 21 */ fn() => $depth > 2 ? 1 : (object) ['a' => $this->value($depth + 1), '7' => 'numeric'],
            fn() => $depth > 2 ? 1 : new \ArrayObject([$this->value($depth + 1)]),
            static fn() => new \DateTimeImmutable('2024-02-29 12:00:00 UTC'),
            static fn() => $depth === 0 && \mt_rand(1, 3) === 1 ? static fn(): int => 1 : 'a closure, nearly',
        ];

        return $any[\mt_rand(1, 5) === 1 ? 21 : \mt_rand(0, \count($any) - 1)]();
    }

    private static function copy(mixed $value): mixed
    {
        return match (true) {
            $value instanceof \Closure => $value,
            \is_array($value) => \array_map(self::copy(...), $value),
            \is_object($value) => \unserialize(\serialize($value)),
            default => $value,
        };
    }

    /** With every type. */
    private static function told(mixed $value): string
    {
        return match (true) {
            $value instanceof \Closure => '(not storable)',
            \is_array($value) => '[' . \implode(', ', \array_map(static fn(int|string $key, mixed $of): string => \var_export($key, true) . ' => ' . self::told($of), \array_keys($value), $value)) . ']',
            \is_string($value) && \strlen($value) > 60 => \strlen($value) . ' bytes ' . \hash('xxh64', $value),
            \is_string($value) => \var_export($value, true),
            $value instanceof \stdClass => '{' . self::told((array) $value) . '}',
            // Less than nothing is no matter here: 0.0 - 0 has another sign than 0.0 + -0.
            $value === 0.0 => 'd:0;',
            default => \serialize($value),
        };
    }
}
