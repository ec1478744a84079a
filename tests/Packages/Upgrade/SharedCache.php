<?php

declare(strict_types=1);

namespace Larder\Tests\Packages\Upgrade;

use PHPUnit\Framework\Assert;

/**
 * One cache that requests of both releases change and read, one after the other, and what it must hold. Either release may
 * begin empty where the other one has written: so a value may be missing, but none may be another's or an older one.
 */
final class SharedCache
{
    public const MISSING = "\0missing";

    /** Runs calls: [group, method, arguments]. A function among the arguments returns what stands in its place. */
    private const CALLS = <<<'PHP'
        $cache = Larder\Cache::open($a[0]);
        $results = [];
        foreach ($a[1] as [$group, $method, $arguments]) {
            $target = $group === '' ? $cache : $cache->group($group);
            if ($method === 'remember' || $method === 'update') {
                $value = $arguments[1];
                $arguments[1] = static fn(): mixed => $value;
            }
            $results[] = $target->$method(...$arguments);
        }

        return $results;
        PHP;

    /** @var array<string, array<string, array{mixed, list<string>}>> group, key: value and tags */
    private array $held = [];

    /** @var array<string, array<string, true>> group, key: all that was ever changed */
    private array $known = [];

    /** @param array<string, mixed> $config with {server} for the server's number */
    public function __construct(private readonly Releases $releases, private readonly array $config, public readonly int $servers) {}

    /** @return array<string, mixed> */
    public function config(int $server): array
    {
        return \array_map(static fn(mixed $value): mixed => \is_string($value) ? \str_replace('{server}', (string) $server, $value) : $value, $this->config);
    }

    /**
     * Calls one method in a request, and judges what it returns.
     *
     * @param list<mixed>          $arguments
     * @param array<string, mixed> $options   further options of the cache
     * @param bool                 $reads     whether the request reads the key before
     */
    public function call(string $release, string $method, array $arguments = [], string $group = '', int $server = 0, array $options = [], bool $reads = false): void
    {
        $key = \is_string($arguments[0] ?? null) ? $arguments[0] : '';
        $calls = [[$group, $method, $arguments]];
        $reads && \array_unshift($calls, [$group, 'get', [$key, self::MISSING]]);
        $results = $this->releases->run($release, self::CALLS, [$options + $this->config($server), $calls], $server);
        $what = "$method($key) of the $release release, " . \json_encode($results, \JSON_PARTIAL_OUTPUT_ON_ERROR);
        Assert::assertIsArray($results, $what);
        $reads && $this->judge($group, $key, \array_shift($results), "before $what");
        $result = $results[0];
        $value = $arguments[1] ?? null;
        $tags = \is_array($arguments[3] ?? null) ? \array_values(\array_filter($arguments[3], \is_string(...))) : [];
        $before = $this->held[$group][$key] ?? null;
        if ($result === false && $this->releases->isRefused($release)) {
            // Kept until a request of the other release applies it: a value that could not be stored is not served either.
            $this->drop($method, $group, $key);

            return;
        }
        switch ($method) {
            case 'set':
                Assert::assertTrue($result, $what);
                $this->hold($group, $key, $value, $tags);
                break;
            case 'add':
                Assert::assertIsBool($result, $what);
                $result ? $this->hold($group, $key, $value, $tags) : Assert::assertNotNull($before, "$what: what was gone is there");
                break;
            case 'replace':
                Assert::assertIsBool($result, $what);
                $result && Assert::assertNotNull($before, "$what: what was gone is there");
                $result && $this->hold($group, $key, $value, $tags);
                break;
            case 'increment':
                Assert::assertIsInt($value);
                Assert::assertContains($result, [(\is_int($before[0] ?? null) ? $before[0] : 0) + $value, $value], $what);
                $this->hold($group, $key, $result, $before[1] ?? []);
                break;
            case 'remember':
                Assert::assertContains($result, $before === null ? [$value] : [$before[0], $value], $what);
                $result === $value && $this->hold($group, $key, $value, []);
                break;
            case 'update':
                // It computes only from a value that is there.
                Assert::assertContains($result, $before === null ? [null] : [null, $value], $what);
                $result === $value && $this->hold($group, $key, $value, $before[1] ?? []);
                break;
            case 'delete':
            case 'flush':
            case 'invalidateTags':
                Assert::assertTrue($result, $what);
                $this->drop($method, $group, $key);
                break;
            default:
                Assert::fail("Nobody knows what $method does.");
        }
    }

    /** After a call that has taken away what was there. */
    private function drop(string $method, string $group, string $key): void
    {
        if ($method === 'invalidateTags') {
            $this->held[$group] = \array_filter($this->held[$group] ?? [], static fn(array $held): bool => !\in_array($key, $held[1], true));
        } elseif ($method === 'flush') {
            // That of the whole cache takes all groups along.
            $group === '' ? $this->held = [] : $this->held[$group] = [];
        } elseif (\in_array($method, ['set', 'delete'], true)) {
            unset($this->held[$group][$key]);
        }
    }

    /** @param list<string> $tags */
    private function hold(string $group, string $key, mixed $value, array $tags): void
    {
        $this->held[$group][$key] = [$value, $tags];
        $this->known[$group][$key] = true;
    }

    /**
     * Reads all that was ever there, in one request, and judges it.
     *
     * @return array{int, int} how many values are there, and how many could be
     */
    public function check(string $release, int $server = 0, string $when = ''): array
    {
        $calls = $keys = [];
        foreach ($this->known as $group => $known) {
            foreach (\array_keys($known) as $key) {
                $keys[] = [(string) $group, (string) $key];
                $calls[] = [(string) $group, 'get', [(string) $key, self::MISSING]];
            }
        }
        $results = $this->releases->run($release, self::CALLS, [$this->config($server), $calls], $server);
        Assert::assertIsArray($results, "$release release: " . Values::print($results));
        $there = 0;
        foreach ($keys as $i => [$group, $key]) {
            $there += (int) $this->judge($group, $key, $results[$i], "read by the $release release on server $server $when");
        }

        return [$there, \array_sum(\array_map(\count(...), $this->held))];
    }

    /** @return bool whether it is there */
    private function judge(string $group, string $key, mixed $found, string $how): bool
    {
        if ($found === self::MISSING) {
            return false;
        }
        $held = $this->held[$group][$key] ?? null;
        Assert::assertNotNull($held, "\"$key\" of group \"$group\" is gone, and comes back as " . \substr(Values::print($found), 0, 100) . ", $how");
        Assert::assertSame(Values::print($held[0]), Values::print($found), "\"$key\" of group \"$group\" $how");

        return true;
    }
}
