<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\Config\Directory;
use Larder\Segment;
use Larder\SegmentException;
use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\Ownership;
use Larder\System\Quiet;

/**
 * Gives back the memory of segments that are not used. No file says when a segment was last used, but each says how often: so a
 * look notes that beside Larder's other files of the user who runs this, and the next one sees what has not changed since.
 */
final class Trim
{
    public const FILE = 'fleet.json';

    /** Seconds that a process of the user's waits for the locks of a segment that is not used. */
    private const LOCK = 0.2;

    /** Seconds for one segment, whose user may hold up the process that opens it; and bytes of it for another second. */
    private const PATIENCE = 3.0;
    private const BYTES = 1 << 30;

    /** @var array<string, array{string, int, bool}> by the path's hash: how often it was used, since when, and whether it was trimmed since */
    private array $notes = [];

    /** @var array<int, true> users who have held one up: no second one of theirs is tried */
    private array $slow = [];

    /** @param float $patience seconds for all segments that are held up */
    public function __construct(private readonly ActingUser $acting, private readonly Accounts $accounts, private readonly int $now, private float $patience = 60.0) {}

    /**
     * Notes how often each segment was used, and finds those that were not used for so long.
     *
     * @param list<Found> $all
     *
     * @return list<Found>
     *
     * @throws Failure if it cannot be noted
     */
    public function idle(array $all, int $seconds): array
    {
        $segments = \array_filter($all, static fn(Found $found): bool => $found->kind === FileNames::SEGMENT && !isset($found->problems['damaged']) && !isset($found->problems['boot']));
        Directory::prepare(Directory::default());
        $handle = $this->locked();
        $known = \json_decode((string) \stream_get_contents($handle, null, 0), true);
        $known = \is_array($known) ? $known : [];
        $this->notes = $idle = [];
        foreach ($segments as $found) {
            $key = \sha1($found->path);
            $note = $known[$key] ?? null;
            // Of a clock that was set back nothing is known.
            $since = \is_array($note) && ($note[0] ?? null) === $found->activity && \is_int($note[1] ?? null) && $note[1] <= $this->now ? $note[1] : $this->now;
            $isTrimmed = \is_array($note) && ($note[2] ?? false) === true && $since === ($note[1] ?? null);
            $this->notes[$key] = [$found->activity, $since, $isTrimmed];
            // One that was trimmed has nothing more to give, and would look used.
            if (!$isTrimmed && $this->now - $since >= $seconds) {
                $idle[] = $found;
            }
        }
        $this->note($handle);

        return $idle;
    }

    /**
     * Notes which of them were trimmed, so that the next one leaves them alone until they are used.
     *
     * @param list<Found> $trimmed
     *
     * @throws Failure if it cannot be noted
     */
    public function done(array $trimmed): void
    {
        foreach ($trimmed as $found) {
            $this->notes[\sha1($found->path)][2] = true;
        }
        $this->note($this->locked());
    }

    /**
     * @return resource of the notes
     *
     * @throws Failure
     */
    private function locked()
    {
        $file = Directory::default() . '/' . self::FILE;
        $handle = FileLock::file($file);

        return $handle !== null && FileLock::take($handle, 5.0) ? $handle : throw Failure::because('fleet', "$file cannot be written; see that " . Ownership::name(Ownership::user()) . ' can');
    }

    /**
     * @param resource $handle
     *
     * @throws Failure
     */
    private function note($handle): void
    {
        $text = (string) \json_encode($this->notes);
        $isKept = Quiet::call(static fn(): bool => \rewind($handle) && \fwrite($handle, $text) === \strlen($text) && \ftruncate($handle, \strlen($text)));
        \fclose($handle);
        $isKept || throw Failure::because('fleet', Directory::default() . '/' . self::FILE . ' cannot be written: make room on its disk');
    }

    /**
     * @return ?string null: done; otherwise why not
     */
    public function trim(Found $found): ?string
    {
        // @phpstan-ignore function.alreadyNarrowedType (an older one may be loaded than the stub describes)
        if (!\extension_loaded('larder') || !\method_exists(Segment::class, 'build')) {
            return 'this PHP has no extension larder, or one that is too old: load it on the command line';
        }
        if ($found->build !== Segment::build()) {
            // Opened by this PHP, a new one would be made beside it.
            return 'another PHP, or another build of the extension, has made it: type this command with that one';
        }
        if (!$this->acting->isRoot || $found->uid === 0) {
            return self::open($found->path);
        }

        if (!\function_exists('pcntl_fork')) {
            return 'PHP\'s extension pcntl is missing: load it on the command line';
        }
        // One user may own thousands of ids that no user has.
        $who = $this->accounts->name($found->uid) === null ? -1 : $found->uid;
        if (isset($this->slow[$who])) {
            return 'left: its user has held up another one';
        }
        if ($this->patience <= 0.0) {
            return 'left: segments of other users have held this up for too long';
        }
        $start = \hrtime(true);
        $reason = $this->inAChild($found);
        if ($reason !== null) {
            $this->slow[$who] = true;
            $this->patience -= (\hrtime(true) - $start) / 1e9;
        }

        return $reason;
    }

    private static function open(string $path): ?string
    {
        try {
            Segment::open($path)->trim();

            return null;
        } catch (SegmentException $e) {
            return $e->getMessage();
        }
    }

    /**
     * In a process that becomes the user for good: the file is his, and may do to a process that maps it what he wants. It keeps no
     * terminal into which it could type, and no file of this process's.
     */
    private function inAChild(Found $found): ?string
    {
        $entry = \posix_getpwuid($found->uid);
        $group = $entry === false ? $this->acting->group() : $entry['gid'];
        // The parent may have had it ignored, and then how a child ends is not told.
        \pcntl_signal(\SIGCHLD, \SIG_DFL);
        $child = \pcntl_fork();
        if ($child === 0) {
            $signal = \SIGKILL;
            try {
                $isGone = \posix_setsid() > 0 && \posix_initgroups($entry === false ? 'nobody' : $entry['name'], $group) && \posix_setgid($group) && \posix_setuid($found->uid) && \posix_getuid() === $found->uid;
                foreach (['STDIN', 'STDOUT', 'STDERR'] as $stream) {
                    \defined($stream) && \is_resource(\constant($stream)) && \fclose(\constant($stream));
                }
                if ($isGone && !self::isFree($found->path)) {
                    $signal = \SIGUSR2;
                } elseif ($isGone && self::open($found->path) === null) {
                    $signal = \SIGUSR1;
                }
            } finally {
                // The parent may have had them ignored, or held.
                \pcntl_signal(\SIGUSR1, \SIG_DFL);
                \pcntl_signal(\SIGUSR2, \SIG_DFL);
                \pcntl_sigprocmask(\SIG_UNBLOCK, [\SIGUSR1, \SIGUSR2]);
                // No destructor of this process's runs in the other user's name, and nothing that comes after this.
                \posix_kill(\posix_getpid(), $signal);
                exit(1);
            }
        }
        $status = 0;
        $seconds = self::PATIENCE + \intdiv($found->memory, self::BYTES);
        if (!self::hasEnded($child, $seconds, $status)) {
            \posix_kill($child, \SIGKILL);
            // Its user may keep it in a call that no signal ends, as one to a file system of his own.
            self::hasEnded($child, self::LOCK, $status);

            return "it did not answer for $seconds seconds";
        }

        return match (\is_int($status) && \pcntl_wifsignaled($status) ? \pcntl_wtermsig($status) : 0) {
            \SIGUSR1 => null,
            \SIGUSR2 => 'a process of its user holds its lock',
            default => 'a process of its user could not open it',
        };
    }

    /** Waits so many seconds for a child to end. */
    private static function hasEnded(int $child, float $seconds, mixed &$status): bool
    {
        for ($end = \hrtime(true) + (int) ($seconds * 1e9); \pcntl_waitpid($child, $status, \WNOHANG) === 0;) {
            if (\hrtime(true) > $end) {
                return false;
            }
            \usleep(2_000);
        }

        return true;
    }

    /** Whether the locks can be had that opening a segment needs: opening it waits for them much longer. */
    private static function isFree(string $path): bool
    {
        return Quiet::call(static function () use ($path): bool {
            $end = \hrtime(true) + (int) (self::LOCK * 1e9);
            foreach (["$path.lock" => \LOCK_EX, $path => \LOCK_SH] as $file => $how) {
                $stat = Files::stat($file);
                $handle = $stat === null ? null : Files::open($file, $stat);
                while ($handle !== null && !\flock($handle, $how | \LOCK_NB)) {
                    if (\hrtime(true) > $end) {
                        return false;
                    }
                    \usleep(2_000);
                }
            }

            return true;
        });
    }
}
