<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Page\PageCache;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;

/**
 * Another program writes into the store, or an older version of this one has: what is no page is none, and nobody hears a
 * warning of it. (Unserialized from cache files, such values were code in others: CVE-2021-24209 and its like.)
 */
#[CoversNothing]
final class PoisonedStoreTest extends AttackCase
{
    private const KEY = 'http://shop.example/';

    private const GOOD = [
        'url' => self::KEY, 'made' => 0, 'age' => 0, 'life' => \PHP_INT_MAX, 'stale' => 0, 'broken' => 0, 'strict' => false, 'status' => 200,
        'headers' => ['Content-Type: text/plain'], 'etag' => '"1"', 'asked' => '"1"', 'modified' => 0, 'date' => 0, 'forms' => ['' => 4],
    ];

    /** @return iterable<string, array{mixed}> */
    public static function garbage(): iterable
    {
        foreach (['text' => 'evil', 'a number' => 1, 'true' => true, 'nothing in it' => [], 'a list' => ['evil'], 'an object' => new \ArrayObject(['page' => 1]), 'bytes' => "\0\xFF"] as $name => $value) {
            yield $name => [$value];
        }
        yield 'a page without a body' => [['page' => self::GOOD]];
        yield 'a body without a page' => [['body' => 'evil']];
        yield 'a page that is text' => [['page' => 'evil', 'body' => 'evil']];
        yield 'a body that is none' => [['page' => self::GOOD, 'body' => ['evil']]];
        foreach (\array_keys(self::GOOD) as $field) {
            $page = self::GOOD;
            unset($page[$field]);
            yield "no $field" => [['page' => $page, 'body' => 'evil']];
            yield "$field of another type" => [['page' => [$field => new \stdClass()] + self::GOOD, 'body' => 'evil']];
        }
        foreach ([['' => 5], ['' => -4, 'gzip' => 8], [4], ['gzip' => 4], [], ['' => 4, 'gzip' => 'x'], ['' => 0]] as $number => $forms) {
            yield "forms that are not the body's ($number)" => [['page' => ['forms' => $forms] + self::GOOD, 'body' => 'evil']];
        }
        yield 'a line in two' => [['page' => ['headers' => ["X: y\r\nSet-Cookie: session=1"]] + self::GOOD, 'body' => 'evil']];
        yield 'a line without a name' => [['page' => ['headers' => ['evil']] + self::GOOD, 'body' => 'evil']];
        yield 'a line that is none' => [['page' => ['headers' => [['evil']]] + self::GOOD, 'body' => 'evil']];
        yield 'a status that is none' => [['page' => ['status' => 7] + self::GOOD, 'body' => 'evil']];
        foreach (['evil', [], ['evil'], [['evil', 1]], [[['evil']]], [[]], 1] as $number => $vary) {
            yield "a list of variants that is none ($number)" => [['vary' => $vary]];
        }
    }

    #[DataProvider('garbage')]
    public function testGarbageInThePlaceOfAPage(mixed $garbage): void
    {
        $pages = $this->cache->group('page');
        $pages->set('p' . self::KEY, $garbage);
        $pages->set('s' . self::KEY, 1);
        $this->assertUnharmed(self::request());
    }

    /** A page of a time that a clock set back has not reached yet: its life would begin then. */
    #[TestWith([[]])]
    #[TestWith([['Vary' => 'Accept-Language']])]
    public function testAPageOfTheFuture(array $fields): void
    {
        $this->prints('page', $fields);
        $this->get();
        $pages = $this->cache->group('page');
        $key = 'p' . self::KEY . ($fields === [] ? '' : "\naccept-language:\0");
        $stored = $pages->get($key);
        self::assertIsArray($stored);
        self::assertIsArray($stored['page']);
        foreach ([2 => 1, 3_600 => 2] as $seconds => $runs) {
            $pages->set($key, ['page' => ['made' => \time() + $seconds] + $stored['page']] + $stored);
            $this->get();
            self::assertSame($runs, $this->runs, "$seconds seconds ahead");
        }
    }

    #[DataProvider('garbage')]
    public function testGarbageInThePlaceOfAVariant(mixed $garbage): void
    {
        $this->prints('page', ['Vary' => 'Accept-Language']);
        $this->get();
        $pages = $this->cache->group('page');
        $pages->set('p' . self::KEY . "\naccept-language:\0", $garbage);
        $this->assertUnharmed(self::request());
    }

    /** A mark, a builder that nobody knows, a rule: none of them keeps anybody longer than a builder that hangs. */
    #[TestWith(['x'])]
    #[TestWith(['b'])]
    #[TestWith(['n'])]
    public function testGarbageInThePlaceOfWhatIsNoted(string $letter): void
    {
        $this->options = ['wait' => 0.05];
        $notes = $this->cache->group('page-notes', cacheOnly: true);
        foreach (['evil', 1, true, [], ['evil'], new \ArrayObject(), "\0\xFF", '[1,2,3]', '[true,true,[[]]]', 'a.b.c.d token', ' '] as $number => $garbage) {
            $notes->set($letter . self::KEY . $number, $garbage);
            self::assertSame('page', (string) $this->get("/$number")->getBody());
            self::assertSame('page', (string) $this->get("/$number")->getBody());
        }
    }

    /** What was thrown away comes back at no time, whoever writes meanwhile. */
    public function testAPurgeOfGarbage(): void
    {
        $this->cache->group('page')->set('p' . self::KEY, ['vary' => 'evil']);
        $pages = new PageCache($this->cache);
        self::assertTrue($pages->purge(self::KEY));
        self::assertTrue($pages->expire(self::KEY));
        $this->assertUnharmed(self::request());
    }
}
