<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\Journal\JournalHorizon;
use Larder\Store\Markers;

/**
 * What is known of deleted rows, in the table m; read and changed within one transaction.
 *
 *     horizon   the greatest position whose row was deleted: the journal is whole from there on
 *     past      the same, with its writer and the greatest position of all others, as position:writer:others
 *     floors    tags:flushes, see Markers
 *     dead      bytes, about, of the rows that hold no entry (removals, markers)
 */
final class DeletedRows
{
    /** Bytes, about, that a row takes in the table and its indices, beside its key and body. */
    public const ROW = 100;

    private const READ = "SELECT name, value FROM m WHERE name IN ('horizon', 'past', 'floors', 'dead')";

    private readonly JournalHorizon $forgotten;

    /** @var array<string, int> by the first letter of the markers' keys */
    private array $floors;

    private int $dead;

    /** @var array<string, int|string> the values in the database */
    private array $stored;

    public function __construct(private readonly Database $database)
    {
        $rows = ['horizon' => 0, 'past' => '', 'floors' => '', 'dead' => 0];
        foreach ($database->rows(self::READ) as [$name, $value]) {
            \assert(\is_string($name) && (\is_string($value) || \is_int($value)));
            $rows[$name] = $value;
        }
        $this->stored = $rows;
        $horizon = (int) $rows['horizon'];
        [$position, $writer, $others] = \explode(':', $rows['past'] . '::');
        // If the positions differ, an older release, which does not know `past`, has deleted a row since.
        $this->forgotten = new JournalHorizon((int) $position === $horizon ? (int) $others : $horizon);
        $this->forgotten->add($horizon, (int) $position === $horizon ? $writer : '');
        $this->floors = self::floors((string) $rows['floors']);
        $this->dead = (int) $rows['dead'];
    }

    /** @return array<string, int> */
    public static function floors(string $stored): array
    {
        [$tags, $flushes] = \explode(':', $stored . ':');

        return [Markers::TAGS => (int) $tags, Markers::FLUSHES => (int) $flushes];
    }

    /**
     * The position after which every change is known.
     *
     * @param string $writer whose own changes do not matter
     */
    public function horizon(string $writer): int
    {
        return $this->forgotten->last($writer);
    }

    public function dead(): int
    {
        return $this->dead;
    }

    /** Sets `dead` to a count that a whole turn of the sweep has made. */
    public function count(int $dead): void
    {
        $this->dead = $dead;
    }

    /** Adjusts `dead` for rows that have lost their entry, or that hold one again. */
    public function weigh(int $bytes): void
    {
        $this->dead = \max(0, $this->dead + $bytes);
    }

    /** Deletes a row; $isDead: it holds no entry. For a marker that may still cover something, call cover() first. */
    public function delete(int $id, int $position, string $writer, string $key, bool $isDead): void
    {
        $this->database->change('DELETE FROM e WHERE id = ?', $id);
        $this->forgotten->add($position, $writer);
        $isDead && $this->weigh(-self::weight($key));
    }

    /** Raises the floor to a marker's position, because the marker is about to be deleted. */
    public function cover(string $key, int $position): void
    {
        $this->floors[$key[0]] = \max($position, $this->floors[$key[0]] ?? 0);
    }

    public static function weight(string $key): int
    {
        // The key lies in the table and in the index of keys.
        return self::ROW + 2 * \strlen($key);
    }

    /** Writes the values to the database. Call it before the transaction ends. */
    public function save(): void
    {
        $horizon = $this->forgotten->last(null);
        $this->learn('horizon', $horizon);
        $this->learn('past', $horizon . ':' . $this->forgotten->writer() . ':' . $this->forgotten->last($this->forgotten->writer()));
        $this->learn('floors', $this->floors[Markers::TAGS] . ':' . $this->floors[Markers::FLUSHES]);
        $this->learn('dead', $this->dead);
    }

    private function learn(string $name, int|string $value): void
    {
        if ($this->stored[$name] !== $value) {
            $this->stored[$name] = $value;
            $this->database->note($name, $value);
        }
    }
}
