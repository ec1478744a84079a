<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\Config\Directory;
use Larder\Config\SegmentPlace;
use Larder\Console\Support\Text;
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

    private const OTHERS_WRITE = 0o022;

    /** As FileLock makes it. */
    private const LIST_MODE = 0o600;

    /** Characters of an exception's message. */
    private const MESSAGE = 200;

    private readonly Inspection $inspection;

    /** @var list<string> where each user's segment is, with %u for the user's id */
    private readonly array $segments;

    /** @var array<string, true> directories that were looked into, by device and inode */
    private array $seen = [];

    /** @var array<int, true> users whose own directories were looked at */
    private array $asked = [];

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
        private readonly Allowance $allowance = new Allowance(),
    ) {
        $this->inspection = new Inspection($limits, $allowance);
        $this->segments = [...\array_values(\array_filter(SegmentPlace::places(), static fn(string $place): bool => \str_starts_with($place, "$memory/"))), "$memory/larder-%u"];
    }

    /**
     * @param list<string> $within directories to search besides
     *
     * @return list<Found> most bytes first
     */
    public function take(array $within): array
    {
        $this->seen = $this->asked = $this->found = [];
        Quiet::call(function () use ($within): void {
            foreach ($this->acting->isRoot ? $this->accounts->ids() : [Ownership::user()] as $uid) {
                $this->attempt($this->accounts->home($uid), $uid, fn() => $this->own($uid));
            }
            foreach ([...Directory::places($this->shared), ...$this->segments] as $place) {
                foreach ($this->strangers($place) as $uid) {
                    $this->attempt(\str_replace('%u', (string) $uid, $place), $uid, fn() => $this->own($uid));
                }
            }
            foreach ($within as $path) {
                $this->search(\rtrim($path, '/'), 0, 0);
            }
        });
        foreach ($this->allowance->cut as [$uid, $user, $at]) {
            $found = $this->found["unknown  $at"] ??= new Found($uid, $user, $at, $at, 'unknown');
            $found->problems['crowded'] = ($user === null ? 'users who are gone have' : 'its user has') . ' too many names or caches for one look, of which the rest was left out, here and elsewhere';
        }
        $found = \array_values($this->found);
        \usort($found, static fn(Found $a, Found $b): int => [$b->bytes(), $a->path, $a->kind] <=> [$a->bytes(), $b->path, $b->kind]);

        return $found;
    }

    /**
     * Users who are gone, or that only a directory service knows: by the directories that are named after them, and theirs.
     *
     * @return iterable<int>
     */
    private function strangers(string $place): iterable
    {
        $parts = \explode('/', $place);
        foreach ($parts as $i => $part) {
            if (\str_contains($part, '%u')) {
                $above = \implode('/', \array_slice($parts, 0, $i));
                $form = '~^' . \str_replace('%u', '(\d{1,10})', \preg_quote($part, '~')) . '$~D';
                // Any user may make names there without end: none is kept.
                $handle = \opendir($above === '' ? '/' : $above);
                while ($handle !== false && ($name = \readdir($handle)) !== false) {
                    $uid = \preg_match($form, $name, $match) === 1 ? Accounts::id($match[1]) : null;
                    $path = "$above/$name";
                    if ($uid !== null && !isset($this->asked[$uid]) && (Files::stat($path)['uid'] ?? null) === $uid && $this->allowance->one(Allowance::THINGS, $uid, $this->accounts->name($uid), $path)) {
                        yield $uid;
                    }
                }
                $handle === false || \closedir($handle);

                return;
            }
        }
    }

    /** What a user has where Larder puts it by itself, and what he has noted there. */
    private function own(int $uid): void
    {
        if (!$this->acting->isFor($uid)) {
            return;
        }
        $this->asked[$uid] = true;
        $noted = [];
        $home = $this->accounts->home($uid);
        foreach ([...($home === '' ? [] : [Directory::inHome($home)]), ...Directory::places($this->shared)] as $place) {
            $place = \str_replace('%u', (string) $uid, $place);
            $this->look($place, $uid, true);
            \array_push($noted, ...$this->noted($place, $uid));
        }
        foreach ($this->segments as $place) {
            $this->look(\str_replace('%u', (string) $uid, $place), $uid, true);
        }
        foreach (\array_unique($noted) as $path) {
            if (!$this->allowance->one(Allowance::NAMES, $uid, $this->accounts->name($uid), $path)) {
                return;
            }
            $this->look($path, $uid, false);
        }
    }

    /**
     * The paths in a user's list, if only he can have written it.
     *
     * @return list<string>
     */
    private function noted(string $place, int $uid): array
    {
        $isBelieved = true;
        $as = $this->viewer($place, $uid);
        $paths = $as === null ? [] : $this->acting->as($as, static function () use ($place, $uid, &$isBelieved): array {
            $file = "$place/" . DirectoryList::FILE;
            [$directory, $stat] = [Files::stat($place), Files::stat($file)];
            if ($directory === null || $stat === null) {
                return [];
            }
            $isBelieved = Files::isDirectory($directory) && $directory['uid'] === $uid && ($directory['mode'] & self::OTHERS_WRITE) === 0
                && Files::isPlain($stat) && $stat['uid'] === $uid && ($stat['mode'] & 0o7777) === self::LIST_MODE;

            return $isBelieved ? DirectoryList::parse((string) Files::start($file, $stat, DirectoryList::LONGEST)) : [];
        });
        if (!$isBelieved && $this->accounts->name($uid) !== null) {
            $this->odd($place, $uid, $uid, 'list', 'its list ' . DirectoryList::FILE . ' is not believed, since others may have written it: let its user own both, type chmod 700 for the directory and chmod 600 for the list');
        }

        return $paths;
    }

    /** @return ?int the user as which to look at what a user says is his; null: his path may lead root anywhere */
    private function viewer(string $path, int $uid): ?int
    {
        // Root's rights lead where others cannot go, so the user who can change root's path is asked.
        return $uid === 0 && $this->acting->isRoot ? Way::whose($path) : $uid;
    }

    /**
     * @param int  $uid   who says that this is his
     * @param bool $isHis whether it has to be: what root has noted it may have made for another user
     */
    private function look(string $path, int $uid, bool $isHis): void
    {
        $as = $this->viewer($path, $uid);
        $stat = $as === null ? null : $this->acting->as($as, static fn(): ?array => Files::stat($path));
        if ($stat === null) {
            return;
        }
        if ($stat['uid'] !== $uid && $this->accounts->name($uid) === null) {
            // A directory of any user's that has such a name by chance.
            return;
        }
        if (!Files::isDirectory($stat)) {
            $this->odd($path, $uid, $uid, 'link', Files::isLink($stat) ? 'it is a symbolic link' : 'it is no directory');
        } elseif ($stat['uid'] !== $uid && ($isHis || $uid !== 0)) {
            $this->odd($path, $uid, $uid, 'owner', ($isHis ? '' : 'its list ' . DirectoryList::FILE . ' names it, and ') . 'it belongs to ' . ($this->accounts->name($stat['uid']) ?? "the user id {$stat['uid']}") . ', so its user cannot use it');
        } else {
            $this->inspect($path, $stat, $as === 0 ? $stat['uid'] : $as);
        }
    }

    /**
     * @param Stat $stat
     * @param int  $as   the user as which to look: the owner, or one who can put something else in its place
     */
    private function inspect(string $path, array $stat, int $as): void
    {
        $key = "{$stat['dev']} {$stat['ino']}";
        if (isset($this->seen[$key]) || !$this->acting->isFor($as)) {
            return;
        }
        $this->seen[$key] = true;
        $user = $this->accounts->name($stat['uid']);
        $this->attempt($path, $stat['uid'], fn() => $this->inspectAs($path, $stat, $user, $as));
    }

    /** @param Stat $stat */
    private function inspectAs(string $path, array $stat, ?string $user, int $as): void
    {
        $this->add($this->acting->as($as, fn(): array => $this->inspection->of($path, $stat, $user)));
        foreach (\array_keys($this->inspection->trees) as $tree) {
            $of = $this->acting->as($as, static fn(): ?array => Files::stat($tree));
            $key = $of === null ? '' : "{$of['dev']} {$of['ino']}";
            if ($of !== null && Files::isDirectory($of) && $of['uid'] === $stat['uid'] && !isset($this->seen[$key])) {
                $found = $this->acting->as($as, fn(): array => $this->inspection->tree($tree, $of, $user));
                // What is no tree may be a directory that is looked at later.
                $found === [] || $this->seen[$key] = true;
                $this->add($found);
            }
        }
    }

    /**
     * Below a user's directory the search goes on as that user, even where another owns what is below: he can put anything there. As root it
     * goes where only root can.
     *
     * @param int $as the user as which to look
     */
    private function search(string $path, int $as, int $depth): void
    {
        $this->attempt($path === '' ? '/' : $path, $as, fn() => $this->searchAs($path, $as, $depth));
    }

    private function searchAs(string $path, int $as, int $depth): void
    {
        $stat = $this->acting->as($as, static fn(): ?array => Files::stat($path === '' ? '/' : $path));
        if ($stat === null || !Files::isDirectory($stat)) {
            return;
        }
        $as = $as === 0 ? $stat['uid'] : $as;
        $user = $this->accounts->name($as);
        $names = $this->acting->as($as, fn(): ?array => $this->allowance->names(Allowance::SEARCHED, $as, $user, $path === '' ? '/' : $path));
        foreach ($names ?? [] as $name) {
            // In a directory that many may write into, what another user has made tells nothing.
            if (FileNames::tells($name) && ($this->acting->as($as, static fn(): ?array => Files::stat("$path/$name"))['uid'] ?? null) === $stat['uid']) {
                $stat['uid'] === $as || $as === 0 ? $this->inspect($path, $stat, $as) : $this->odd($path, $as, $stat['uid'], 'owner', 'it belongs to another user than the directory above');
                break;
            }
        }
        foreach ($depth < self::DEPTH ? $names ?? [] : [] as $name) {
            // Larder's own directories have been looked into with the one that they lie in.
            \in_array($name, self::PASSED, true) || FileNames::isPrefix($name) || FileNames::kind($name) !== null || $this->search("$path/$name", $as, $depth + 1);
        }
    }

    /**
     * What goes wrong with one user's hides nothing of the others'.
     *
     * @param \Closure(): mixed $work
     */
    private function attempt(string $path, int $uid, \Closure $work): void
    {
        try {
            $work();
        } catch (\Throwable $thrown) {
            $this->odd($path, $uid, $uid, 'failed', 'the look at it failed: ' . Text::line($thrown->getMessage(), self::MESSAGE));
        }
    }

    /** @param int $uid who has brought root there */
    private function odd(string $path, int $uid, int $owner, string $code, string $text): void
    {
        if (!$this->allowance->one(Allowance::THINGS, $uid, $this->accounts->name($uid), $path)) {
            return;
        }
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
