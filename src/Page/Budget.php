<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;

/**
 * Keeps the pages in the cache within a number of bytes, so that a flood of them, as of searches, evicts neither everything
 * else nor the pages that visitors come for.
 *
 * The budget is a ring of slots, each for SLOT bytes of a page. A new page takes the next ones, and whatever they belonged
 * to is removed: unless it was used since, then it moves to the ring's end once more (the CLOCK algorithm; F. J. Corbato,
 * "A paging experiment with the Multics system", 1968). A page that is made anew leaves its old slots to the pages that come to them.
 *
 *     ring       how many slots were ever taken
 *     i<slot>    the page in a slot, and the number at which it took it
 *     r<page>    the last number of the page itself: a slot with another one is an old page's
 *     u<page>    the page was used
 *
 * Two requests may take slots at the same time; each gets its own. Nothing is locked: who dies half way leaves slots that
 * say too much, never pages that no slot knows.
 */
final readonly class Budget
{
    public const SLOT = 8_192;

    /** Of all pages in the cache, unless the owner says otherwise. */
    public const BYTES = 48 << 20;

    /** Used pages that one new page may move to the end, at the most. */
    private const SPARED = 4;

    /** Seconds that notes are kept: longer than any page is. */
    private const KEPT = 30 * 86_400;

    /** @param int $bytes of all pages together */
    public function __construct(private Cache $pages, private Cache $notes, private int $bytes) {}

    /**
     * Makes room for a page that holds() takes. Call it before the page is stored.
     *
     * @param string $name under which it will lie
     *
     * @return bool false: the cache cannot be written
     */
    public function admit(string $name, int $bytes): bool
    {
        $needs = self::needs($bytes);
        $spared = self::SPARED;
        for ($queue = [[$name, $needs]]; $queue !== [];) {
            [$name, $needs] = \array_shift($queue);
            $end = $this->notes->increment('ring', $needs);
            if ($end === false) {
                return false;
            }
            $slots = [];
            for ($number = $end - $needs + 1; $number <= $end; $number++) {
                $slots['i' . $number % $this->slots()] = [$name, $needs, $end];
            }
            foreach ($this->evict(\array_keys($slots), $name) as [$used, $itsNeeds]) {
                if ($spared-- > 0) {
                    $queue[] = [$used, $itsNeeds];
                } else {
                    $this->remove([$used]);
                }
            }
            if (!$this->notes->setMultiple($slots + ["r$name" => $end], self::KEPT)) {
                return false;
            }
        }

        return true;
    }

    /** Whether a page takes a quarter of all there is, at the most. */
    public function holds(int $bytes): bool
    {
        return self::needs($bytes) <= \intdiv($this->slots(), 4);
    }

    /** Notes that a page was used. */
    public function used(string $name): void
    {
        $this->notes->set("u$name", true, self::KEPT);
    }

    /**
     * Removes the pages in these slots, but for those that were used since they took them.
     *
     * @param list<string> $slots
     * @param string       $name  of the page that takes them: it is not removed
     *
     * @return list<array{string, int}> the used ones, and how many slots each needs
     */
    private function evict(array $slots, string $name): array
    {
        $owners = [];
        foreach ($this->notes->getMultiple($slots) as $owner) {
            if (\is_array($owner) && \is_string($owner[0] ?? null) && \is_int($owner[1] ?? null) && \is_int($owner[2] ?? null) && $owner[0] !== $name) {
                $owners[$owner[0]] = [$owner[1], $owner[2]];
            }
        }
        if ($owners === []) {
            return [];
        }
        $names = \array_map(\strval(...), \array_keys($owners));
        $notes = $this->notes->getMultiple([...\array_map(static fn(string $name): string => "r$name", $names), ...\array_map(static fn(string $name): string => "u$name", $names)]);
        $used = $gone = [];
        foreach ($names as $each) {
            [$needs, $end] = $owners[$each];
            if (($notes["r$each"] ?? null) !== $end) {
                continue;
            }
            if (isset($notes["u$each"])) {
                $this->notes->delete("u$each");
                $used[] = [$each, $needs];
            } else {
                $gone[] = $each;
            }
        }
        $this->remove($gone);

        return $used;
    }

    /** @param list<string> $names */
    private function remove(array $names): void
    {
        if ($names !== []) {
            $this->pages->deleteMultiple([...\array_map(static fn(string $name): string => "p$name", $names), ...\array_map(static fn(string $name): string => "s$name", $names)]);
            $this->notes->deleteMultiple(\array_map(static fn(string $name): string => "r$name", $names));
        }
    }

    private static function needs(int $bytes): int
    {
        return \max(1, \intdiv($bytes + self::SLOT - 1, self::SLOT));
    }

    private function slots(): int
    {
        return \max(16, \intdiv($this->bytes, self::SLOT));
    }
}
