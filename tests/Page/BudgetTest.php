<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Cache;
use Larder\Page\Budget;
use PHPUnit\Framework\TestCase;

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
