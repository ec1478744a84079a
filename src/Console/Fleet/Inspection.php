<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\Console\Support\Text;
use Larder\Store\File\Sizes;
use Larder\System\IncidentLog;

/**
 * Looks into one directory: what of Larder's is in it, how much it takes, and what is wrong. It asks the file system, and reads the
 * beginnings of files that have a fixed form; nothing is opened as a database, unserialized, locked or written.
 *
 * The caller acts as the directory's owner, and keeps PHP quiet.
 *
 * @phpstan-import-type Stat from Files
 */
final class Inspection
{
    /** Bytes of a write-ahead log that Larder's own never reach, whatever the budget (Sweeper::keepLog()). */
    private const LONG_LOG = 64 << 20;

    /** Bytes of a list of the web server's directories. */
    private const LIST = 16_384;

    /** Segments of any name that are looked for in one directory. */
    private const SEGMENTS = 64;

    private const OTHERS = 0o077;
    private const OTHERS_WRITE = 0o022;

    private readonly string $boot;

    /** @var array<string, Found> by kind and name */
    private array $found = [];

    /** @var array<string, true> directories of the web server's files that the caches in here name */
    public array $trees = [];

    /** @param array<string, int> $limits of the server's policy, in bytes */
    public function __construct(private readonly array $limits, private readonly Allowance $allowance)
    {
        $this->boot = SegmentHeader::boot();
    }

    /**
     * @param Stat    $stat of the directory
     * @param ?string $user null: there is none of that id
     *
     * @return list<Found>
     */
    public function of(string $directory, array $stat, ?string $user): array
    {
        $this->trees = [];

        return $this->inside($directory, $stat, $user, true);
    }

    /**
     * The web server's files of a page cache.
     *
     * @param Stat $stat of the directory
     *
     * @return list<Found> none: it is no such directory
     */
    public function tree(string $directory, array $stat, ?string $user): array
    {
        $found = new Found($stat['uid'], $user, $directory, $directory, 'static');
        $file = "$directory/state/index-bytes";
        $index = Files::stat($file);
        if ($index === null || $index['uid'] !== $stat['uid'] || !$this->isLeft($stat['uid'], $user, $directory)) {
            return [];
        }
        $found->disk = Files::number($file, $index);
        $found->usedAt = \max(0, $index['mtime']);

        return $this->judged([$found]);
    }

    /**
     * @param Stat $stat
     *
     * @return list<Found>
     */
    private function inside(string $directory, array $stat, ?string $user, bool $mayHavePrefixes): array
    {
        $names = $this->allowance->names(Allowance::NAMES, $stat['uid'], $user, $directory);
        if ($names === null) {
            if (!$this->isLeft($stat['uid'], $user, $directory)) {
                return [];
            }
            $found = new Found($stat['uid'], $user, $directory, $directory, 'unknown');
            $found->problems['unreadable'] = 'the directory cannot be read';

            return [$found];
        }
        if ($names === [] && $user === null) {
            // The removal of a deleted user's has ended between the last file and the directory.
            return [new Found($stat['uid'], null, $directory, $directory, 'unknown')];
        }
        $this->found = [];
        $states = $inner = [];
        $segments = 0;
        foreach ($names as $name) {
            $path = "$directory/$name";
            $of = Files::stat($path);
            if ($of === null) {
                continue;
            }
            if (FileNames::isPrefix($name)) {
                $mayHavePrefixes && Files::isDirectory($of) && $of['uid'] === $stat['uid'] && $inner[$path] = $of;
                continue;
            }
            [$kind, $queue] = FileNames::kind($name) ?? ['', ''];
            $isSegment = SegmentHeader::hasMode($of) && $of['uid'] === $stat['uid'];
            if ($isSegment && ++$segments <= self::SEGMENTS) {
                $kind = $this->segment($directory, $path, $of, $user, $kind);
            }
            if ($kind === '' || $kind === FileNames::SEGMENT) {
                continue;
            }
            if ($kind === FileNames::STATE || $kind === FileNames::REMOTE) {
                $states[] = [$name, $of, $kind];
                continue;
            }
            $key = "$kind $queue";
            if (!isset($this->found[$key]) && !$this->isLeft($stat['uid'], $user, $directory)) {
                continue;
            }
            $found = $this->found[$key] ??= new Found($stat['uid'], $user, $directory, $directory, $kind, $queue);
            $this->count($found, $path, $name, $of, $stat['uid']);
        }
        $this->state($states, $directory, $stat['uid'], $user);
        if (\count($names) >= Files::MOST) {
            $this->wrong('crowded', 'the directory has more than ' . Files::MOST . ' names, of which no more were looked at', $directory, $stat['uid'], $user);
        }
        if (($stat['mode'] & self::OTHERS) !== 0 && $this->found !== []) {
            $this->wrong('mode', \sprintf('others may enter the directory (mode %04o): type chmod 700', $stat['mode'] & 0o7777), $directory, $stat['uid'], $user);
        }
        $all = $this->judged(\array_values($this->found));
        foreach ($inner as $path => $of) {
            \array_push($all, ...$this->inside($path, $of, $user, false));
        }

        return $all;
    }

    /** @param Stat $stat */
    private function count(Found $found, string $path, string $name, array $stat, int $owner): void
    {
        if (!Files::isLink($stat)) {
            $found->disk += Files::taken($stat);
            $found->usedAt = \max($found->usedAt, $stat['mtime']);
        }
        if ($stat['uid'] !== $owner) {
            $found->problems['owner'] = Text::line($name) . ' belongs to another user';
        } elseif (Files::isLink($stat)) {
            $found->problems['link'] = Text::line($name) . ' is a symbolic link';
        } elseif (($stat['mode'] & self::OTHERS_WRITE) !== 0) {
            $found->problems['mode'] = Text::line($name) . ' can be written by others';
        }
        if (\str_ends_with($name, '.db') && !Files::isPlain($stat) && !Files::isLink($stat)) {
            $found->problems['damaged'] = Text::line($name) . ' is no plain file';
        }
        if (!Files::isPlain($stat) || $stat['uid'] !== $owner) {
            return;
        }
        if (\str_ends_with($name, '-wal') && $stat['size'] > self::LONG_LOG) {
            $found->problems['wal'] = Text::line($name) . ' has ' . Text::bytes($stat['size']) . ': a process keeps it from being emptied, or an older release left it';
        } elseif (\str_ends_with($name, '.db') && Files::start($path, $stat, 18) === null) {
            $found->problems['unreadable'] = Text::line($name) . ' cannot be opened: its mode forbids it, or a process of its user holds it (F_SETLEASE)';
        } elseif (\str_ends_with($name, '.db') && !Origin::isDatabase($found->kind, $path, $stat)) {
            $found->problems['damaged'] = Text::line($name) . ' is no SQLite database of Larder\'s';
        } elseif (\str_ends_with($name, '.damaged')) {
            $found->problems['incident'] = 'a damaged database was moved aside: ' . Text::line($name);
        } elseif ($found->kind === FileNames::FILES && $name === 'lock') {
            $handle = Files::open($path, $stat);
            $found->disk += $handle === null ? 0 : Files::bounded(\array_sum(\array_column(Sizes::all($handle), 0)));
            $handle === null || \fclose($handle);
        } elseif ($found->kind === FileNames::PAGES && \preg_match('/-copies-.*-[0-9a-f]\.lock$/D', $name) === 1) {
            $found->disk += Files::number($path, $stat);
        } elseif ($found->kind === FileNames::PAGES && \str_ends_with($name, '-trees')) {
            foreach (\explode("\n", (string) Files::start($path, $stat, self::LIST)) as $tree) {
                if (!$this->allowance->one(Allowance::NAMES, $owner, $found->user, $path)) {
                    break;
                }
                $tree !== '' && $tree[0] === '/' && !\str_contains($tree, "\0") && $this->trees[$tree] = true;
            }
        }
    }

    /**
     * @param Stat $stat
     *
     * @return string the kind that it has
     */
    private function segment(string $directory, string $path, array $stat, ?string $user, string $kind): string
    {
        $page = (string) Files::start($path, $stat, SegmentHeader::LENGTH);
        $header = SegmentHeader::parse($page);
        if ($header === null && $kind !== FileNames::SEGMENT && !\str_starts_with($page, SegmentHeader::MAGIC)) {
            return $kind;
        }
        if (!$this->isLeft($stat['uid'], $user, $path)) {
            return FileNames::SEGMENT;
        }
        $found = $this->found["segment $path"] = new Found($stat['uid'], $user, $directory, $path, FileNames::SEGMENT);
        $found->memory = Files::taken($stat);
        $found->usedAt = \max($stat['mtime'], $stat['ctime']);
        if ($header === null) {
            $found->problems['damaged'] = 'the file is no segment, or its header is damaged: remove it';

            return FileNames::SEGMENT;
        }
        [$found->hits, $found->misses, $found->build, $found->activity] = [$header->hits, $header->misses, $header->build, "{$stat['ino']} $header->activity"];
        if ($this->boot !== '' && $header->boot !== $this->boot) {
            $found->problems['boot'] = 'it was made before the machine started, and no process uses it: remove it';
        }
        if ($found->memory > ($this->limits['segment'] ?? \PHP_INT_MAX)) {
            $found->problems['over_policy'] = Text::bytes($found->memory) . ' in memory, and the policy allows ' . Text::bytes($this->limits['segment'] ?? 0) . ': it shrinks while it is written to';
        }

        return FileNames::SEGMENT;
    }

    private function isLeft(int $uid, ?string $user, string $at): bool
    {
        return $this->allowance->one(Allowance::THINGS, $uid, $user, $at);
    }

    /**
     * What processes note beside a cache counts for that cache. Where there is none, it is the local part of one on a server.
     *
     * @param list<array{string, Stat, string}> $states
     */
    private function state(array $states, string $directory, int $uid, ?string $user): void
    {
        $cache = $this->found[FileNames::SQLITE . ' '] ?? $this->found[FileNames::FILES . ' '] ?? null;
        $isRemote = \in_array(FileNames::REMOTE, \array_column($states, 2), true);
        // A user's notes alone are worth a line only when there is no such user any more.
        if ($cache === null && ($isRemote || ($states !== [] && $user === null && $this->found === []))) {
            $kind = $isRemote ? FileNames::REMOTE : 'notes';
            $cache = $this->found["$kind "] = new Found($uid, $user, $directory, $directory, $kind);
        }
        if ($cache === null) {
            return;
        }
        foreach ($states as [$name, $stat]) {
            $this->count($cache, "$directory/$name", $name, $stat, $uid);
            if ($name === IncidentLog::FILE && $stat['size'] > 0) {
                $cache->problems['incident'] = 'another program has removed, emptied or damaged files (' . IncidentLog::FILE . ')';
            }
        }
    }

    private function wrong(string $code, string $text, string $directory, int $uid, ?string $user): void
    {
        $this->found === [] && $this->found[''] = new Found($uid, $user, $directory, $directory, 'unknown');
        foreach ($this->found as $found) {
            $found->problems[$code] ??= $text;
        }
    }

    /**
     * @param list<Found> $all
     *
     * @return list<Found>
     */
    private function judged(array $all): array
    {
        foreach ($all as $found) {
            if ($found->user === null) {
                $found->problems['no_user'] = "no user has the id $found->uid any more";
            }
            $most = match ($found->kind) {
                FileNames::QUEUE => $this->limits['queue'] ?? \PHP_INT_MAX,
                FileNames::SQLITE, FileNames::FILES, FileNames::PAGES, 'static' => $this->limits['disk'] ?? \PHP_INT_MAX,
                default => \PHP_INT_MAX,
            };
            // The log, the change log and what is kept come to the budget.
            if ($found->disk > $most + ($most >> 2) + (16 << 20)) {
                $found->problems['over_policy'] = Text::bytes($found->disk) . ' on disk, and the policy allows ' . Text::bytes($most);
            }
        }

        return $all;
    }
}
