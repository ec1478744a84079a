<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** The keys that the experiment works with: few, so that processes meet; of every kind. */
final class Catalog
{
    /** @var list<Item> */
    public readonly array $items;

    /** How many of them change; the rest expires. */
    public readonly int $busy;

    /** @var array<int, Item> by row */
    public readonly array $owners;

    public function __construct()
    {
        $items = [];
        $row = 0;
        $add = static function (array $groups, array $tags, int $rows, bool $unique = true, ?int $ttl = null) use (&$items, &$row): void {
            $id = \count($items);
            $items[] = new Item($id, $groups, $tags, \range($row, $row + $rows - 1), $id % 4, $unique, $ttl ?? ($id % 5 === 0 ? 600 : 0));
            $row += $rows;
        };
        for ($i = 0; $i < 8; $i++) {
            $add([], [], 1);
        }
        for ($i = 0; $i < 6; $i++) {
            $add([], $i === 0 ? ['red', 'blue'] : [['red', 'blue', 'green'][$i % 3]], 1);
        }
        for ($i = 0; $i < 4; $i++) {
            $add(['shop'], $i < 2 ? ['red'] : [], 1);
        }
        for ($i = 0; $i < 3; $i++) {
            $add(['shop', 'cart'], [], 1);
        }
        // As WordPress's alloptions: many rows in one value, each writer changes one of them.
        for ($i = 0; $i < 4; $i++) {
            $add($i === 3 ? ['shop'] : [], [], 3);
        }
        // The same bytes for the same versions, whoever computes them.
        for ($i = 0; $i < 3; $i++) {
            $add([], [], 1, false);
        }
        $this->busy = \count($items);
        for ($i = 0; $i < 2; $i++) {
            $add(['quiet'], [], 1, true, 1);
        }
        $this->items = $items;
        $owners = [];
        foreach ($items as $item) {
            foreach ($item->rows as $row) {
                $owners[$row] = $item;
            }
        }
        $this->owners = $owners;
    }

    /**
     * The items that a flush of these groups, or an invalidation of these tags directly in them, covers.
     *
     * @param list<string>  $groups
     * @param ?list<string> $tags   null: a flush
     *
     * @return list<Item>
     */
    public function covered(array $groups, ?array $tags): array
    {
        $covered = [];
        foreach ($this->items as $item) {
            $inside = $tags === null
                ? \array_slice($item->groups, 0, \count($groups)) === $groups
                : $item->groups === $groups && \array_intersect($tags, $item->tags) !== [];
            if ($inside) {
                $covered[] = $item;
            }
        }

        return $covered;
    }
}
