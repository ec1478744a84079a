<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\TagSet;

/**
 * Tags as Larder keeps them: labels on the entries. A flush is one write, however many entries have the tag, and nothing that
 * had it can be read afterwards.
 */
final class LarderTagSet extends TagSet
{
    /** @param list<string> $names */
    public function __construct(private readonly LarderStore $larder, array $names)
    {
        parent::__construct($larder, $names);
    }

    public function reset(): bool
    {
        return $this->larder->invalidate($this->names());
    }

    public function flush(): bool
    {
        return $this->reset();
    }

    /** @param string $name */
    public function resetTag($name): string
    {
        $this->larder->invalidate([$name]);

        return $name;
    }

    /** @param string $name */
    public function flushTag($name): bool
    {
        return $this->larder->invalidate([$name]);
    }

    /** @param string $name */
    public function tagId($name): string
    {
        return $name;
    }

    /** Of the names alone: an item is found under the names that it was stored with. */
    public function getNamespace(): string
    {
        return \implode('', \array_map(static fn(string $name): string => \strlen($name) . ':' . $name, $this->names()));
    }

    /** @return list<string> */
    private function names(): array
    {
        return $this->names;
    }
}
