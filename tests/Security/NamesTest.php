<?php

declare(strict_types=1);

namespace Larder\Tests\Security;

use Larder\Cache;
use Larder\Segment;
use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** Keys, groups, tags and prefixes with whatever bytes a visitor sends: none of them is another's. */
final class NamesTest extends TestCase
{
    private const HOSTILE = [
        'a', 'b', ':', '::', 'a:', ':a', 'a:b', 'a::b', '/', 'a/b', '/a', 'a/', '../a', '..', '%', '%3A', '%2F', 'a%2Fb', 'a%3Ab',
        "\0", "a\0", "a\0b", "a\nb", "a\r\nget b", 'e::a', 'e:a:b', 'f:', 'f:a', 't::a', 'l::a', ' ', 'a b', 'A', 'ä', "a\xCC\x88", "\xFF",
        '0', '00', '1e1', 'head', 'r:e::a', "a' OR '1'='1", '*', '?', '[a]', '{a}', '.', '~',
    ];

    private const PREFIXES = ['a', 'a:', 'a:e', 'a:e:', 'a:b', 'A', 'aa', 'a.b', 'a-b', 'a_b', 'a:head', 'prefix-a', 'a:0123456789abcdef', 'a:production_site1'];

    private static ?RedisServer $redis = null;
    private static ?MemcachedServer $memcached = null;
    private ?TemporaryDirectory $directory = null;

    protected function tearDown(): void
    {
        $this->directory = null;
    }

    public static function tearDownAfterClass(): void
    {
        self::$redis = null;
        self::$memcached?->end();
        self::$memcached = null;
    }

    /** @return iterable<string, array{string}> */
    public static function engines(): iterable
    {
        foreach (['sqlite', 'file', 'redis', 'memcached', 'apcu', 'near'] as $engine) {
            yield $engine => [$engine];
        }
    }

    #[DataProvider('engines')]
    public function testNoTwoGroupsOrKeysMeet(string $engine): void
    {
        $options = $this->options($engine);
        $cache = Cache::open($options);
        $spaces = ['' => $cache];
        // Every write to Memcached and to files costs: fewer groups than keys.
        foreach (\array_slice(self::HOSTILE, 0, 25) as $name) {
            $spaces["g $name"] = $cache->group($name);
        }
        foreach (['b', 'b:', '/', '%', "\0"] as $name) {
            $spaces["a in $name"] = $cache->group($name)->group('a');
            $spaces["$name in a"] = $cache->group('a')->group($name);
        }
        foreach ($spaces as $space => $group) {
            $values = [];
            foreach (self::HOSTILE as $key) {
                $values[$key] = "$space > $key";
            }
            self::assertTrue($group->setMultiple($values));
        }
        /** @param array<string, array<string, true>> $gone */
        $check = static function (array $gone) use ($options, $spaces): void {
            $fresh = Cache::open($options);
            foreach (\array_keys($spaces) as $space) {
                $missing = $gone[$space] ?? [];
                $group = match (true) {
                    $space === '' => $fresh,
                    \str_starts_with($space, 'g ') => $fresh->group(\substr($space, 2)),
                    \str_starts_with($space, 'a in ') => $fresh->group(\substr($space, 5))->group('a'),
                    default => $fresh->group('a')->group(\substr($space, 0, -5)),
                };
                $expected = [];
                foreach (isset($missing['*all*']) ? [] : self::HOSTILE as $key) {
                    isset($missing[$key]) || $expected[$key] = "$space > $key";
                }
                self::assertSame($expected, $group->getMultiple(self::HOSTILE), $space);
            }
        };
        $check([]);
        self::assertTrue($cache->delete('a:b'));
        self::assertTrue($cache->group('a')->delete('b'));
        self::assertTrue($cache->group('a:b')->delete("a\0b"));
        self::assertTrue($cache->group('a/b')->flush());
        self::assertTrue($cache->group('%2F')->flush());
        $gone = ['' => ['a:b' => true], 'g a' => ['b' => true], 'g a:b' => ["a\0b" => true], 'g a/b' => ['*all*' => true], 'g %2F' => ['*all*' => true]];
        $check($gone);
        self::assertTrue($cache->group('a')->flush());
        $gone['g a'] = ['*all*' => true];
        foreach (['b', 'b:', '/', '%', "\0"] as $name) {
            $gone["$name in a"] = ['*all*' => true];
        }
        $check($gone);
    }

    #[DataProvider('engines')]
    public function testNoTwoTagsMeet(string $engine): void
    {
        $options = $this->options($engine);
        $cache = Cache::open($options);
        foreach (self::HOSTILE as $tag) {
            self::assertTrue($cache->set("tagged $tag", 1, 0, [$tag]));
            self::assertTrue($cache->group('g')->set("tagged $tag", 1, 0, [$tag]));
        }
        self::assertTrue($cache->invalidateTags('a', ':', "a\0", 'f:', '0'));
        $fresh = Cache::open($options);
        foreach (self::HOSTILE as $tag) {
            self::assertSame(\in_array($tag, ['a', ':', "a\0", 'f:', '0'], true) ? null : 1, $fresh->get("tagged $tag"), $tag);
            self::assertSame(1, $fresh->group('g')->get("tagged $tag"), 'the tags of a group are its own');
        }
    }

    #[DataProvider('engines')]
    public function testNoTwoPrefixesMeet(string $engine): void
    {
        $base = $this->options($engine);
        unset($base['prefix']);
        $values = [];
        foreach (self::PREFIXES as $prefix) {
            $values[$prefix] = [];
            foreach (self::HOSTILE as $key) {
                $values[$prefix][$key] = "$prefix > $key";
            }
            self::assertTrue(Cache::open(['prefix' => $prefix] + $base)->setMultiple($values[$prefix]), $prefix);
        }
        foreach (self::PREFIXES as $prefix) {
            self::assertSame($values[$prefix], Cache::open(['prefix' => $prefix] + $base)->getMultiple(self::HOSTILE), $prefix);
        }
        self::assertTrue(Cache::open(['prefix' => 'a'] + $base)->flush());
        foreach (self::PREFIXES as $prefix) {
            $cache = Cache::open(['prefix' => $prefix] + $base);
            self::assertSame($prefix === 'a' ? [] : $values[$prefix], $cache->getMultiple(self::HOSTILE), $prefix);
        }
    }

    /** As several WordPresses of one user do: each with a directory or a prefix of its own, and one segment before all. */
    // Seen to fail: a name of the near tier without the mark (the directory); one without the prefix.
    #[RequiresPhpExtension('larder')]
    public function testSitesOfOneUserShareASegmentAndNoKey(): void
    {
        $this->directory = new TemporaryDirectory();
        $path = $this->directory->path;
        $near = "segment://$path/segment";
        $sites = [];
        foreach (['one', 'two'] as $directory) {
            foreach (['a', 'a:', 'wp-0123456789ab'] as $prefix) {
                $sites["$directory $prefix"] = ['disk' => "sqlite://$path/$directory", 'prefix' => $prefix, 'near' => $near];
            }
        }
        foreach ($sites as $name => $options) {
            self::assertTrue(Cache::open($options)->setMultiple(\array_map(static fn(string $key): string => "$name > $key", \array_combine(self::HOSTILE, self::HOSTILE))));
        }
        // Once from the disk into the segment, and once from there.
        foreach ([1, 2] as $_) {
            foreach ($sites as $name => $options) {
                self::assertSame(\array_map(static fn(string $key): string => "$name > $key", \array_combine(self::HOSTILE, self::HOSTILE)), Cache::open($options)->getMultiple(self::HOSTILE), $name);
            }
        }
        $stats = Segment::open("$path/segment")->stats();
        self::assertGreaterThanOrEqual(\count($sites) * \count(self::HOSTILE), $stats['hits']);
        self::assertTrue(Cache::open($sites['one a'])->flush());
        self::assertTrue(Cache::open($sites['two a'])->delete('a'));
        foreach ($sites as $name => $options) {
            $cache = Cache::open($options);
            self::assertSame($name === 'one a' ? [null, null] : [$name === 'two a' ? null : "$name > a", "$name > b"], [$cache->get('a'), $cache->get('b')], $name);
        }
    }

    /** @return array<string, mixed> */
    private function options(string $engine): array
    {
        $this->directory ??= new TemporaryDirectory();
        if ($engine === 'redis') {
            RedisServer::demand();
            self::$redis ??= new RedisServer();
        } elseif ($engine === 'memcached') {
            MemcachedServer::installed() || self::markTestSkipped('There is no memcached.');
            self::$memcached ??= new MemcachedServer();
        } elseif (\in_array($engine, ['apcu', 'near'], true) && !(\function_exists('apcu_enabled') && \apcu_enabled())) {
            self::markTestSkipped('APCu is off: run with -d apc.enable_cli=1.');
        }

        return ['prefix' => 'p' . \bin2hex(\random_bytes(4)), 'timeout' => 5.0] + match ($engine) {
            'sqlite', 'file' => ['disk' => $engine . '://' . $this->directory->path . '/cache'],
            'near' => ['near' => 'apcu', 'disk' => 'sqlite://' . $this->directory->path . '/cache'],
            'apcu' => ['near' => 'apcu'] + ['dsn' => null],
            'redis' => ['far' => 'redis://' . self::$redis?->socket],
            default => ['far' => 'memcached://' . self::$memcached?->address[0]],
        };
    }
}
