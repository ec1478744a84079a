<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\System\DirectoryList;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;

/**
 * Removes what users have left who do not exist any more: files that Larder has made (see Origin), of that user, in directories
 * of that user. It follows no link and removes none. It acts with that user's rights only, and goes only where only he and root
 * could have led it (see Way): it rather leaves something than removes what is another's.
 *
 * A run that is killed in the middle leaves directories that are found again: each file in them tells that they are Larder's, and the
 * list of the user's directories goes after those.
 *
 * @phpstan-import-type Stat from Files
 */
final class Orphans
{
    /** So deep lie files in directories that are Larder's as a whole. */
    private const DEPTH = 3;

    private const OTHERS_WRITE = 0o022;

    /** Files in directories of Larder's as a whole: hashes. Pipes have the number of a process before theirs. */
    private const HASH = '/^[0-9a-f]{1,32}(?:[.-][\w.-]*)?$/D';

    /** @var array<string, string> directories that stay, and why */
    public array $left = [];

    /** Of what remove() was given, what is gone. */
    public int $removed = 0;

    public function __construct(private readonly ActingUser $acting, private readonly Accounts $accounts) {}

    /**
     * @param list<Found> $all
     *
     * @return list<Found>
     */
    public function among(array $all): array
    {
        // Root's own and what cannot be told apart from another user's stay.
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
                $this->left[$found->directory] = 'it has pages for a web server';
            } else {
                $directories["$found->uid $found->directory"] = [$found->directory, $found->uid, $this->hasList($found->directory, $found->uid)];
            }
        }
        // The deepest first; a list of directories after the directories.
        \usort($directories, static fn(array $a, array $b): int => [$a[2], \substr_count($b[0], '/')] <=> [$b[2], \substr_count($a[0], '/')]);
        $bytes = 0;
        // A new user may have got the id meanwhile.
        $this->accounts->read();
        foreach ($directories as [$directory, $uid]) {
            $use = $this->accounts->name($uid) !== null ? 'there is a user of this id now' : $this->accounts->use($uid);
            if ($use !== null) {
                $this->left[$directory] = $use;
                continue;
            }
            $bytes += Quiet::call(fn(): int => $this->acting->as($uid, fn(): int => $this->clear($directory, $uid)));
        }
        $this->removed = \count(\array_filter($orphans, fn(Found $found): bool => !isset($this->left[$found->directory])));

        return $bytes;
    }

    private function hasList(string $directory, int $uid): bool
    {
        return Quiet::call(fn(): bool => $this->acting->as($uid, static fn(): bool => \is_file("$directory/" . DirectoryList::FILE)));
    }

    private function clear(string $directory, int $uid): int
    {
        // Another owner of the path could lead it to another directory of that id, whose files would go.
        $isHis = Way::whose($directory) === $uid && (Files::stat($directory)['uid'] ?? null) === $uid;
        [$plan, $isLarders] = $isHis ? $this->plan($directory, $uid) : [[], false];
        $bytes = 0;
        foreach ($plan as [, $path, $stat]) {
            $bytes += match (true) {
                Files::isDirectory($stat) => $this->whole($path, $uid, self::DEPTH),
                \unlink($path) => Files::taken($stat),
                default => 0,
            };
        }
        if (!$isLarders || !\rmdir($directory)) {
            $this->left[$directory] = match (true) {
                !$isHis => 'its path belongs to others too',
                !$isLarders => 'nothing shows that Larder has made it',
                default => 'something else is in it, or it lies where its user could not remove it',
            };
        }

        return $bytes;
    }

    /**
     * What goes, in the order in which it goes: what shows whose the other files are goes after them.
     *
     * @return array{list<array{int, string, Stat}>, bool} nothing and false: nothing shows that Larder has made the directory, and it is not empty
     */
    private function plan(string $directory, int $uid): array
    {
        $plan = [];
        $names = Files::names($directory);
        // A run may have ended between the mark and the directory.
        $isLarders = $names === [];
        foreach ($names ??= [] as $name) {
            $path = "$directory/$name";
            $stat = Files::stat($path);
            if ($stat === null || $stat['uid'] !== $uid || !Files::isPlain($stat) && !(Files::isDirectory($stat) && FileNames::isWhole($name))) {
                continue;
            }
            if (Files::isDirectory($stat) && self::isOpen($stat)) {
                continue;
            }
            $proves = Origin::proves($path, $stat);
            $isLarders = $isLarders || $proves;
            if (Origin::isLarders($path, $stat)) {
                $plan[] = [$name === PrivateDirectory::MARK ? 2 : (int) $proves, $path, $stat];
            }
        }
        if (\count($names) >= Files::MOST) {
            // More may lie there: the next run still has to see whose it is.
            $plan = \array_values(\array_filter($plan, static fn(array $each): bool => $each[0] === 0));
        }
        \usort($plan, static fn(array $a, array $b): int => $a[0] <=> $b[0]);

        return [$isLarders ? $plan : [], $isLarders];
    }

    /**
     * Where others can write, they may have put something in.
     *
     * @param Stat $stat
     */
    private static function isOpen(array $stat): bool
    {
        return ($stat['mode'] & self::OTHERS_WRITE) !== 0;
    }

    /** A directory of Larder's own: plain files and pipes with names as it gives them. */
    private function whole(string $directory, int $uid, int $depth): int
    {
        $bytes = 0;
        do {
            $gone = 0;
            foreach (Files::names($directory) ?? [] as $name) {
                $path = "$directory/$name";
                $stat = Files::stat($path);
                if ($stat === null || $stat['uid'] !== $uid || Files::isLink($stat) || \preg_match(self::HASH, $name) !== 1 || Files::isDirectory($stat) && self::isOpen($stat)) {
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
