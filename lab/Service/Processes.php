<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** A process and all that it has started (proc(5)). */
final class Processes
{
    /** @return list<int> */
    public static function of(int $pid): array
    {
        $all = [$pid];
        for ($i = 0; $i < \count($all); $i++) {
            $children = \trim((string) Silence::of(static fn(): string|false => \file_get_contents("/proc/$all[$i]/task/$all[$i]/children")));
            \array_push($all, ...($children === '' ? [] : \array_map(\intval(...), \explode(' ', $children))));
        }

        return $all;
    }
}
