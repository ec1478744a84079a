<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

/** Who can put something else at the end of a path. */
final class Way
{
    private const OTHERS_WRITE = 0o022;
    private const STICKY = 0o1000;

    /**
     * Walks from the root of the file system: a directory that one cannot change is looked at before what is in it. An access
     * list that lets others write shows in the group's bits (acl(5)). Where everybody writes, as in /tmp, the sticky bit leaves a
     * directory to its owner.
     *
     * The caller keeps PHP quiet.
     *
     * @return ?int the one user besides root who owns directories on the path; 0: root owns all; null: several users can change it,
     *              a link is in it, or it leads to no directory
     */
    public static function whose(string $path): ?int
    {
        $parts = $path === '/' ? [] : \explode('/', \substr($path, 1));
        if (($path[0] ?? '') !== '/') {
            return null;
        }
        $owner = 0;
        $at = '';
        foreach (['', ...$parts] as $i => $part) {
            $at = $i < 2 ? "/$part" : "$at/$part";
            $stat = Files::stat($at);
            if ($stat === null || !Files::isDirectory($stat) || $stat['uid'] !== 0 && $owner !== 0 && $stat['uid'] !== $owner) {
                return null;
            }
            $owner = $owner === 0 ? $stat['uid'] : $owner;
            $isSticky = $i < \count($parts) && ($stat['mode'] & self::STICKY) !== 0;
            if (($stat['mode'] & self::OTHERS_WRITE) !== 0 && !$isSticky) {
                return null;
            }
        }

        return $owner;
    }
}
