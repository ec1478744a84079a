<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Request\InvalidKey;
use Larder\Request\Space;
use PHPUnit\Framework\TestCase;

/** What keys are called in the stores, and what a flush covers. */
final class SpaceTest extends TestCase
{
    public function testNamesOfTheRootAndOfGroups(): void
    {
        $root = new Space();
        $deep = $root->group('a', false)->group('b:c/d', false);
        self::assertSame(['e::k', 'f:', ['f:'], ['t::x']], [$root->key('k'), $root->flush(), $root->flushes, $root->tags(['x'])]);
        self::assertSame('e:a/b%3Ac%2Fd:k', $deep->key('k'));
        self::assertSame('f:a/b%3Ac%2Fd', $deep->flush());
        self::assertSame(['f:', 'f:a', 'f:a/b%3Ac%2Fd'], $deep->flushes);
        self::assertSame(['t:a/b%3Ac%2Fd:x:y'], $deep->tags(['x:y']));
        self::assertSame('l:a/b%3Ac%2Fd:k', Space::lease($deep->key('k')));
    }

    public function testAFlushCoversItsSpaceAndWhatLiesInIt(): void
    {
        $root = new Space();
        $a = $root->group('a', false);
        $ab = $a->group('b', false);
        $names = ['root' => $root->key('k'), 'a' => $a->key('k'), 'a/b' => $ab->key('k'), 'ab' => $root->group('ab', false)->key('k'), 'b' => $root->group('b', false)->key('k'), 'a%' => $root->group('a/b', false)->key('k')];
        $covered = static fn(Space $space): array => \array_keys(\array_filter($names, static fn(string $key): bool => Space::covers($space->flush(), $key)));
        self::assertSame(['root', 'a', 'a/b', 'ab', 'b', 'a%'], $covered($root));
        self::assertSame(['a', 'a/b'], $covered($a));
        self::assertSame(['a/b'], $covered($ab));
    }

    public function testAGroupOfACacheOnlySpaceIsCacheOnly(): void
    {
        self::assertFalse((new Space())->group('a', false)->cacheOnly);
        self::assertTrue((new Space())->group('a', true)->cacheOnly);
        self::assertTrue((new Space('', true))->group('a', false)->cacheOnly);
    }

    public function testTagsAreASetAndMayLookLikeNumbers(): void
    {
        self::assertSame(['t::1', 't::a'], (new Space())->tags(['1', 'a', '1']));
    }

    public function testWhatCannotBeAKeyOrATag(): void
    {
        $space = new Space();
        self::assertSame(65536 + 3, \strlen($space->key(\str_repeat('k', 65536))));
        foreach ([
            static fn() => $space->key(''),
            static fn() => $space->key(\str_repeat('k', 65537)),
            static fn() => $space->tags(['']),
            // Seen to fail: 65,536 wrapped the count of them, and what was read back was another value.
            static fn() => $space->tags(\array_map(\strval(...), \range(1, 1001))),
            static fn() => $space->tags(\array_map(\strval(...), \range(1, 65_536))),
            static fn() => $space->tags([\str_repeat('t', 32769)]),
        ] as $call) {
            try {
                $call();
                self::fail('It was taken.');
            } catch (InvalidKey $e) {
                self::assertMatchesRegularExpression('/give it|hash it|use one that stands/', $e->getMessage());
            }
        }
    }

    /** Seen to fail: strlen() complained of an argument that is not the caller's. */
    public function testATagThatIsNoStringIsRefusedAtEachDoor(): void
    {
        $cache = Cache::open('memory://');
        $cache->set('there', 1);
        foreach (['[5]' => "of type int: write '5'.", '[null]' => 'of type null.', '[["a"]]' => 'of type array.', '{"key":1.5}' => 'of type float.'] as $json => $says) {
            /** @var list<string> $tags */
            $tags = \json_decode($json, true);
            foreach ([
                'set' => static fn() => $cache->set('k', 1, tags: $tags),
                'add' => static fn() => $cache->add('k', 1, tags: $tags),
                'replace' => static fn() => $cache->replace('there', 1, tags: $tags),
                'fill' => static fn() => $cache->fill('k', 1, tags: $tags),
                'remember' => static fn() => $cache->remember('k', static fn(): int => 1, tags: $tags),
                'setMultiple' => static fn() => $cache->setMultiple(['k' => 1], tags: $tags),
                'setEach' => static fn() => $cache->setEach(['k' => 1], [], ['k' => $tags]),
            ] as $door => $call) {
                try {
                    $call();
                    self::fail("$door has taken it");
                } catch (InvalidKey $invalid) {
                    self::assertStringEndsWith($says, $invalid->getMessage(), $door);
                    self::assertStringStartsWith('A tag must be a string', $invalid->getMessage(), $door);
                }
            }
            self::assertFalse($cache->has('k'));
        }
    }
}
