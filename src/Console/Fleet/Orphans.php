<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\System\DirectoryList;
use Larder\System\Quiet;

/**
 * Removes what users have left who do not exist any more: files with Larder's names, of that user, in directories of that
 * user. It follows no link and removes none, and acts with that user's rights, so that a path which leads elsewhere by now leads
 * nowhere that he could not remove himself.
 *
 * Whoever is killed in the middle leaves directories that are found again: each file in them tells that they are Larder's, and the
 * list of the user's directories goes after those.
 */
final class Orphans
{
    /** So deep lie files in directories that are Larder's as a whole. */
    private const DEPTH = 3;

    /** @var list<string> what stays, and why */
    public array $left = [];

    public function __construct(private readonly ActingUser $acting, private readonly Accounts $accounts) {}

    /**
     * @param list<Found> $all
     *
     * @return list<Found>
     */
    public function among(array $all): array
    {
        // Root's own and what cannot be told apart from somebody else's stay.
        return \array_values(\array_filter($all, fn(Found $found): bool => $found->user === null && $found->uid !== 0 && $this->acting->isRoot));
    }

    /**
     * @param list<Found> $orphans of among()
     *
     * @return int bytes that were given back
     */
    public function remove(array $orphans): int
    {
        $directories = [];
        foreach ($orphans as $found) {
            if ($found->kind === 'static') {
                // It has no names of Larder's, but those of pages.
                $this->left[] = $found->directory;
            } else {
                $directories["$found->uid $found->directory"] = [$found->directory, $found->uid];
            }
        }
        // The deepest first; a list of directories after the directories.
        \usort($directories, static fn(array $a, array $b): int => [self::hasList($a[0]), \substr_count($b[0], '/')] <=> [self::hasList($b[0]), \substr_count($a[0], '/')]);
        $bytes = 0;
        foreach ($directories as [$directory, $uid]) {
            // Somebody may have got the id meanwhile.
            $bytes += $this->accounts->name($uid) === null ? Quiet::call(fn(): int => $this->clear($directory, $uid)) : 0;
        }

        return $bytes;
    }

    private static function hasList(string $directory): bool
    {
        return Quiet::call(static fn(): bool => \is_file("$directory/" . DirectoryList::FILE));
    }

    private function clear(string $directory, int $uid): int
    {
        $bytes = $this->acting->as($uid, fn(): int => $this->inside($directory, $uid));
        if (!$this->acting->as($uid, static fn(): bool => \rmdir($directory))) {
            $above = Files::stat(\dirname($directory));
            // Where root alone can put something else there.
            $isRoots = $above !== null && Files::isDirectory($above) && $above['uid'] === 0 && ($above['mode'] & 0o022) === 0;
            $isRoots && \rmdir($directory) || $this->left[] = $directory;
        }

        return $bytes;
    }

    private function inside(string $directory, int $uid): int
    {
        $bytes = 0;
        foreach (Files::names($directory) ?? [] as $name) {
            $path = "$directory/$name";
            $stat = Files::stat($path);
            if ($stat === null || $stat['uid'] !== $uid) {
                continue;
            }
            $isSegment = ($stat['mode'] & 0o7777) === 0o400 && SegmentHeader::parse((string) Files::start($path, $stat, SegmentHeader::LENGTH)) !== null;
            if (FileNames::kind($name) === null && !$isSegment) {
                continue;
            }
            if (Files::isPlain($stat)) {
                $bytes += \unlink($path) ? Files::taken($stat) : 0;
            } elseif (Files::isDirectory($stat) && FileNames::isWhole($name)) {
                $bytes += $this->whole($path, $uid, self::DEPTH);
            }
        }
        return $bytes;
    }

    /** A directory in which all is Larder's: plain files and pipes. */
    private function whole(string $directory, int $uid, int $depth): int
    {
        $bytes = 0;
        do {
            $gone = 0;
            foreach (Files::names($directory) ?? [] as $name) {
                $path = "$directory/$name";
                $stat = Files::stat($path);
                if ($stat === null || $stat['uid'] !== $uid || Files::isLink($stat)) {
                    continue;
                }
                if (!Files::isDirectory($stat)) {
                    $isGone = \unlink($path);
                    $bytes += $isGone ? Files::taken($stat) : 0;
                    $gone += (int) $isGone;
                } elseif ($depth > 0) {
                    $bytes += $this->whole($path, $uid, $depth - 1);
                }
            }
        } while ($gone >= Files::MOST >> 1);
        \rmdir($directory);

        return $bytes;
    }
}
