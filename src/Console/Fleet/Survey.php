<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\Config\Directory;
use Larder\System\DirectoryList;
use Larder\System\Ownership;
use Larder\System\Quiet;

/**
 * Finds what Larder has on this server: where each user's own directories are, in what they note there, and below directories
 * that the caller names. Nothing that is found is believed before the file system has said whose it is.
 *
 * @phpstan-import-type Stat from Files
 */
final class Survey
{
    /** How deep below a named directory: /home/user/site/wp-content/larder-… is 4 below /home. */
    private const DEPTH = 7;

    /** Directories that take long and have no cache. */
    private const PASSED = ['node_modules', '.git', 'vendor', 'proc', 'sys', 'dev'];

    private readonly Inspection $inspection;

    /** @var array<string, true> directories that were looked into, by device and inode */
    private array $seen = [];

    /** @var array<string, Found> by kind, name and path: a directory may be noted, and lie in another */
    private array $found = [];

    /**
     * @param array<string, int> $limits of the server's policy, in bytes
     * @param string             $memory where segments are
     * @param list<string>       $shared where users without a home have their directories
     */
    public function __construct(
        private readonly ActingUser $acting,
        private readonly Accounts $accounts,
        array $limits,
        public readonly string $memory = '/dev/shm',
        private readonly array $shared = ['/var/tmp', '/tmp'],
    ) {
        $this->inspection = new Inspection($limits);
    }

    /**
     * @param list<string> $within directories to search besides
     *
     * @return list<Found> most bytes first
     */
    public function take(array $within): array
    {
        $this->seen = $this->found = [];
        Quiet::call(function () use ($within): void {
            foreach ($this->acting->isRoot ? $this->accounts->ids() : [Ownership::user()] as $uid) {
                $this->own($uid);
            }
            foreach ([...Directory::places($this->shared), "$this->memory/larder-%u"] as $place) {
                // Users who are gone, or whom only a directory service knows.
                $form = '~^' . \str_replace('%u', '(\d{1,10})', \preg_quote($place, '~')) . '$~D';
                foreach (\str_contains($place, '%u') ? \glob(\str_replace('%u', '*', $place)) ?: [] : [] as $path) {
                    \preg_match($form, $path, $match) === 1 && $this->own((int) $match[1]);
                }
            }
            foreach ($within as $path) {
                $this->search(\rtrim($path, '/'), 0, 0);
            }
        });
        $found = \array_values($this->found);
        \usort($found, static fn(Found $a, Found $b): int => [$b->bytes(), $a->path, $a->kind] <=> [$a->bytes(), $b->path, $b->kind]);

        return $found;
    }

    /** What a user has where Larder puts it by itself, and what he has noted there. */
    private function own(int $uid): void
    {
        if (!$this->acting->isFor($uid)) {
            return;
        }
        $noted = [];
        $home = $this->accounts->home($uid);
        foreach ([...($home === '' ? [] : [Directory::inHome($home)]), ...Directory::places($this->shared)] as $place) {
            $place = \str_replace('%u', (string) $uid, $place);
            $this->look($place, $uid);
            \array_push($noted, ...$this->acting->as($uid, static function () use ($place): array {
                $file = "$place/" . DirectoryList::FILE;
                $stat = Files::stat($file);

                return $stat === null ? [] : DirectoryList::parse((string) Files::start($file, $stat, DirectoryList::LONGEST));
            }));
        }
        $this->look("$this->memory/larder-$uid", $uid);
        foreach (\array_unique($noted) as $path) {
            // What root has noted it may have made for somebody else.
            $this->look($path, $uid);
        }
    }

    /** @param int $uid who says that this is his */
    private function look(string $path, int $uid): void
    {
        $stat = $this->acting->as($uid, static fn(): ?array => Files::stat($path));
        if ($stat === null) {
            return;
        }
        if ($stat['uid'] !== $uid && $this->accounts->name($uid) === null) {
            // A directory of anybody's that has such a name by chance.
            return;
        }
        if (!Files::isDirectory($stat)) {
            $this->odd($path, $uid, $stat['uid'], 'link', Files::isLink($stat) ? 'it is a symbolic link' : 'it is no directory');
        } elseif ($stat['uid'] !== $uid && $uid !== 0) {
            $this->odd($path, $uid, $stat['uid'], 'owner', 'it belongs to ' . ($this->accounts->name($stat['uid']) ?? "the user id {$stat['uid']}") . ', so its user cannot use it');
        } else {
            $this->inspect($path, $stat, $stat['uid']);
        }
    }

    /**
     * @param Stat $stat
     * @param int  $as   as whom to look: the owner, or whoever can put something else in its place
     */
    private function inspect(string $path, array $stat, int $as): void
    {
        $key = "{$stat['dev']} {$stat['ino']}";
        if (isset($this->seen[$key]) || !$this->acting->isFor($as)) {
            return;
        }
        $this->seen[$key] = true;
        $user = $this->accounts->name($stat['uid']);
        $this->add($this->acting->as($as, fn(): array => $this->inspection->of($path, $stat, $user)));
        foreach (\array_unique($this->inspection->trees) as $tree) {
            $of = $this->acting->as($as, static fn(): ?array => Files::stat($tree));
            $key = $of === null ? '' : "{$of['dev']} {$of['ino']}";
            if ($of !== null && Files::isDirectory($of) && $of['uid'] === $stat['uid'] && !isset($this->seen[$key])) {
                $this->seen[$key] = true;
                $this->add($this->acting->as($as, fn(): array => $this->inspection->tree($tree, $of, $user)));
            }
        }
    }

    /**
     * Below a user's directory the search goes on as that user, whoever owns what is below: he can put anything there. As root it
     * goes where only root can.
     *
     * @param int $as as whom to look
     */
    private function search(string $path, int $as, int $depth): void
    {
        $stat = $this->acting->as($as, static fn(): ?array => Files::stat($path === '' ? '/' : $path));
        if ($stat === null || !Files::isDirectory($stat)) {
            return;
        }
        $as = $as === 0 ? $stat['uid'] : $as;
        $names = $this->acting->as($as, static fn(): ?array => Files::names($path === '' ? '/' : $path));
        foreach ($names ?? [] as $name) {
            if (FileNames::tells($name)) {
                $stat['uid'] === $as || $as === 0 ? $this->inspect($path, $stat, $as) : $this->odd($path, $as, $stat['uid'], 'owner', 'it belongs to another user than the directory above');

                return;
            }
        }
        foreach ($depth < self::DEPTH ? $names ?? [] : [] as $name) {
            \in_array($name, self::PASSED, true) || $this->search("$path/$name", $as, $depth + 1);
        }
    }

    private function odd(string $path, int $uid, int $owner, string $code, string $text): void
    {
        $found = new Found($owner, $this->accounts->name($owner), $path, $path, 'unknown');
        $found->problems = [$code => $text];
        $this->add([$found]);
    }

    /** @param list<Found> $all */
    private function add(array $all): void
    {
        foreach ($all as $found) {
            $this->found["$found->kind $found->name $found->path"] ??= $found;
        }
    }
}
