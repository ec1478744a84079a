<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Cache;
use Larder\Page\Budget;
use Larder\Page\Pages;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

#[Group('slow')]
final class BudgetTest extends TestCase
{
    private const BYTES = 1 << 20;

    private Cache $pages;
    private Cache $notes;
    private Budget $budget;

    protected function setUp(): void
    {
        $cache = Cache::open(['dsn' => 'memory://', 'budget' => '256M']);
        $this->pages = $cache->group('page');
        $this->notes = $cache->group('page-notes', cacheOnly: true);
        $this->budget = new Budget($this->pages, $this->notes, self::BYTES);
    }

    public function testAFloodOfPagesStaysWithinIt(): void
    {
        for ($i = 0; $i < 1_000; $i++) {
            self::assertTrue($this->store("search$i", 1_000 + $i * 17 % 20_000));
            self::assertNotNull($this->pages->get("psearch$i"), 'the newest page is there');
        }
        $bytes = $this->bytes();
        self::assertLessThanOrEqual(self::BYTES, $bytes);
        self::assertGreaterThan(self::BYTES / 2, $bytes, 'and it is used');
        self::assertNull($this->pages->get('ssearch0'), 'a stamp goes with its page');
    }

    /** Addresses that nobody may store, as each customer's own, evict nothing of the application's. */
    public function testAFloodOfPagesThatCannotBeStoredTakesNoRoom(): void
    {
        $cache = Cache::open(['dsn' => 'memory://', 'budget' => '4M']);
        for ($i = 0; $i < 2_000; $i++) {
            $cache->set("value$i", \str_repeat('x', 200));
        }
        $pages = new Pages($cache);
        for ($i = 0; $i < 20_000; $i++) {
            $pages->notes()->setMark("http://shop.example/account/$i", 'Set-Cookie');
            $pages->notes()->setRefusal("http://shop.example/large/$i", 'it was purged while it was made');
            self::assertSame('Set-Cookie', $pages->notes()->mark("http://shop.example/account/$i"));
        }
        $left = \array_filter(\range(0, 1_999), static fn(int $i): bool => $cache->get("value$i") !== null);
        self::assertCount(2_000, $left);
        self::assertLessThan(2_500, \count(\array_filter(\iterator_to_array($cache->entries()), static fn(array $entry): bool => $entry['group'] === 'page-notes')));
        self::assertNull($pages->notes()->mark('http://shop.example/account/nobody'));
    }

    /** Whoever asks under other names of the site makes a note of each. */
    public function testAFloodOfHostsTakesNoRoom(): void
    {
        $cache = Cache::open('memory://');
        $pages = new Pages($cache);
        for ($i = 0; $i < 2_000; $i++) {
            $pages->notes()->noteOptions("http://host$i.example", ['ttl' => $i], []);
        }
        self::assertLessThan(300, \count(\iterator_to_array($cache->entries())));
        self::assertSame(['ttl' => 1_999], $pages->notes()->options('http://host1999.example'));
        self::assertSame(['ttl' => 1_900], $pages->notes()->options('http://host1900.example'));
        self::assertSame([], $pages->notes()->options('http://host0.example'));
        self::assertContains('http://host1999.example', $pages->notes()->origins());
        self::assertTrue($pages->notes()->isUsed());
    }

    /** @see Pages::setMark() */
    public function testAMarkIsOfItsOwnPage(): void
    {
        $pages = new Pages(Cache::open('memory://'));
        for ($i = 0; $i < 5_000; $i++) {
            $pages->notes()->setMark("http://shop.example/$i", "reason $i");
        }
        $known = 0;
        for ($i = 0; $i < 5_000; $i++) {
            $mark = $pages->notes()->mark("http://shop.example/$i");
            self::assertContains($mark, [null, "reason $i"]);
            $known += $mark === null ? 0 : 1;
        }
        self::assertGreaterThan(900, $known);
        $pages->notes()->removeMark('http://shop.example/another');
        $pages->notes()->removeMark('http://shop.example/4999');
        self::assertNull($pages->notes()->mark('http://shop.example/4999'));
        self::assertSame('reason 4998', $pages->notes()->mark('http://shop.example/4998'));
    }

    public function testAPageThatIsUsedOutlivesOnesThatAreNot(): void
    {
        $this->store('home', 20_000);
        for ($i = 0; $i < 1_000; $i++) {
            for ($visit = 0; $visit < 100; $visit++) {
                $this->budget->used('home');
            }
            $this->store("search$i", 20_000);
            self::assertNotNull($this->pages->get('phome'), "after $i others");
        }
        self::assertLessThanOrEqual(self::BYTES, $this->bytes());
    }

    public function testIfAllAreUsedTheBudgetStillHolds(): void
    {
        for ($i = 0; $i < 500; $i++) {
            $this->store("page$i", 30_000);
            for ($visit = 0; $visit < 300; $visit++) {
                $this->budget->used("page$i");
            }
        }
        self::assertLessThanOrEqual(self::BYTES, $this->bytes());
    }

    public function testAPageMadeAnewAgainAndAgainRemovesNoOther(): void
    {
        $this->store('other', 10_000);
        for ($i = 0; $i < 20; $i++) {
            $this->store('home', 20_000 + $i);
        }
        self::assertNotNull($this->pages->get('pother'));
        for ($i = 0; $i < 100; $i++) {
            $this->store('home', 20_000 + $i);
            self::assertNotNull($this->pages->get('phome'), 'nor itself, when its old slots are taken');
        }
    }

    public function testAPageOfAQuarterIsRefused(): void
    {
        self::assertTrue($this->budget->holds(self::BYTES >> 2));
        self::assertFalse($this->budget->holds((self::BYTES >> 2) + 1));
    }

    public function testNotesThatAreGoneOrHostileDoNoHarm(): void
    {
        for ($i = 0; $i < 50; $i++) {
            $this->store("page$i", 20_000);
        }
        foreach ([null, 'text', [], ['x'], ['page9', 'many', 'late'], [1, 2, 3]] as $slot => $garbage) {
            $this->notes->set("i$slot", $garbage);
        }
        $this->notes->delete('ring');
        for ($i = 100; $i < 300; $i++) {
            self::assertTrue($this->store("page$i", 20_000));
        }
        self::assertLessThanOrEqual(2 * self::BYTES, $this->bytes());
    }

    private function store(string $name, int $bytes): bool
    {
        return $this->budget->admit($name, $bytes) && $this->pages->set("p$name", \str_repeat('x', $bytes)) && $this->pages->set("s$name", 1);
    }

    private function bytes(): int
    {
        $bytes = 0;
        foreach ($this->pages->entries() as $key => $entry) {
            $bytes += $entry['group'] === 'page' && \is_string($value = $this->pages->get((string) $key)) ? \strlen($value) : 0;
        }

        return $bytes;
    }
}
