<?php

declare(strict_types=1);

namespace Larder\Lab\Instructions;

use Larder\Lab\Run\Result;

/** The counts that a reviewed change has left in docs/instructions.json, and what has become of them since. */
final readonly class Kept
{
    public const FILE = __DIR__ . '/../../docs/instructions.json';

    /** What a call may take more than it did, before it is a loss. */
    public const TOLERANCE = 0.03;

    /**
     * @param string             $conditions what else decides a count
     * @param array<string, int> $counts     by a cell's id
     */
    public function __construct(public string $conditions, public array $counts) {}

    /** @param list<Result> $results */
    public static function of(string $scenario, array $results): self
    {
        $counts = [];
        foreach ($results as $result) {
            if ($result->cell->scenario === $scenario) {
                $counts[$result->cell->id()] = (int) $result->summary->median;
            }
        }

        return new self(\sprintf('PHP %d.%d, %s', \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION, \extension_loaded('larder') ? 'the extension loaded' : 'without the extension'), $counts);
    }

    public static function read(string $file): ?self
    {
        $json = \is_file($file) ? \json_decode((string) \file_get_contents($file), true) : null;
        $counts = \is_array($json) && \is_array($json['counts'] ?? null) ? \array_filter($json['counts'], \is_int(...)) : [];

        return \is_array($json) && \is_string($json['conditions'] ?? null) ? new self($json['conditions'], \array_combine(\array_map(\strval(...), \array_keys($counts)), $counts)) : null;
    }

    public function write(string $file): void
    {
        \file_put_contents($file, \json_encode(\get_object_vars($this), \JSON_PRETTY_PRINT | \JSON_UNESCAPED_SLASHES | \JSON_THROW_ON_ERROR) . "\n");
    }

    /** @return list<string> what a call takes more, or less, than it did here; beyond the tolerance */
    public function changes(self $now): array
    {
        if ($this->conditions !== $now->conditions) {
            return ["Instructions are compared with docs/instructions.json only under the same conditions: there \"$this->conditions\", here \"$now->conditions\"."];
        }
        $changes = [];
        foreach ($now->counts as $id => $count) {
            $before = $this->counts[$id] ?? 0;
            if ($before > 0 && \abs($count / $before - 1) > self::TOLERANCE) {
                $changes[] = \sprintf('Instructions: %s takes %.1f %% %s than docs/instructions.json has: %s, not %s.', $id, 100 * \abs($count / $before - 1), $count > $before ? 'more' : 'less', \number_format($count), \number_format($before));
            }
        }

        return $changes !== [] || $now->counts === [] ? $changes : [\sprintf('Instructions: no call takes %d %% more or less than docs/instructions.json has.', 100 * self::TOLERANCE)];
    }
}
