<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/** The primary of a cluster's node that has one slot. All keys of a cache have one hash tag, so they lie in one slot. */
final class ClusterPrimary extends Primary
{
    /**
     * @param non-empty-list<array{string, int}> $servers nodes
     * @param string                             $tag     what stands between { and } in the keys' names
     */
    public function __construct(array $servers, ?string $file, private readonly string $tag)
    {
        parent::__construct($servers, $file);
    }

    protected function question(): array
    {
        return [['CLUSTER', 'KEYSLOT', '{' . $this->tag . '}'], ['CLUSTER', 'SLOTS']];
    }

    protected function answer(array $replies, string $host): array|string
    {
        [$slot, $ranges] = $replies + [null, null];
        if (!\is_int($slot) || !\is_array($ranges)) {
            return "$host is no node of a cluster";
        }
        foreach ($ranges as $range) {
            if (\is_array($range) && \is_int($range[0] ?? null) && \is_int($range[1] ?? null) && $range[0] <= $slot && $slot <= $range[1]) {
                $node = $range[2] ?? null;
                $name = \is_array($node) ? $node[0] ?? null : null;
                $port = \is_array($node) ? $node[1] ?? null : null;
                if (\is_int($port)) {
                    // A node that does not know its own address leaves it out.
                    return [\is_string($name) && $name !== '' && $name !== '?' ? $name : $host, $port];
                }
            }
        }

        return "no node has slot $slot";
    }
}
