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
 * Gives back the memory of segments that nobody uses. No file says when a segment was last used, but each says how often: so a
 * look notes that beside Larder's other files of whoever runs this, and the next one sees what has not changed since.
 */
final class Trim
{
    public const FILE = 'fleet.json';

    /** Seconds for one segment, whose user may hold up whoever opens it. */
    private const PATIENCE = 10.0;

    public function __construct(private readonly ActingUser $acting, private readonly int $now) {}

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
        $file = Directory::default() . '/' . self::FILE;
        $handle = FileLock::file($file);
        if ($handle === null || !FileLock::take($handle, 5.0)) {
            throw Failure::because('fleet', "$file cannot be written; see that " . Ownership::name(Ownership::user()) . ' can');
        }
        $known = \json_decode((string) \stream_get_contents($handle, null, 0), true);
        $known = \is_array($known) ? $known : [];
        $notes = $idle = [];
        foreach ($segments as $found) {
            $key = \sha1($found->path);
            $note = $known[$key] ?? null;
            // Of a clock that was set back nothing is known.
            $since = \is_array($note) && ($note[0] ?? null) === $found->activity && \is_int($note[1] ?? null) && $note[1] <= $this->now ? $note[1] : $this->now;
            $notes[$key] = [$found->activity, $since];
            if ($this->now - $since >= $seconds) {
                $idle[] = $found;
            }
        }
        $text = (string) \json_encode($notes);
        $isKept = Quiet::call(static fn(): bool => \rewind($handle) && \fwrite($handle, $text) === \strlen($text) && \ftruncate($handle, \strlen($text)));
        \fclose($handle);

        return $isKept ? $idle : throw Failure::because('fleet', "$file cannot be written: make room on its disk");
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

        return \function_exists('pcntl_fork') ? $this->inAChild($found) : 'PHP\'s extension pcntl is missing: load it on the command line';
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
     * In a process that becomes the user for good: the file is his, and may do to whoever maps it what he wants. It keeps no
     * terminal into which it could type, and no file of this process's.
     */
    private function inAChild(Found $found): ?string
    {
        $entry = \posix_getpwuid($found->uid);
        $group = $entry === false ? $this->acting->group() : $entry['gid'];
        $child = \pcntl_fork();
        if ($child === 0) {
            $isGone = \posix_setsid() > 0 && \posix_initgroups($entry === false ? 'nobody' : $entry['name'], $group) && \posix_setgid($group) && \posix_setuid($found->uid) && \posix_getuid() === $found->uid;
            foreach (['STDIN', 'STDOUT', 'STDERR'] as $stream) {
                \defined($stream) && \is_resource(\constant($stream)) && \fclose(\constant($stream));
            }
            $isDone = $isGone && self::open($found->path) === null;
            // No destructor of this process's runs in the other user's name.
            \posix_kill(\posix_getpid(), $isDone ? \SIGUSR1 : \SIGKILL);
            exit(1);
        }
        $status = 0;
        for ($end = \hrtime(true) + (int) (self::PATIENCE * 1e9); \pcntl_waitpid($child, $status, \WNOHANG) === 0;) {
            if (\hrtime(true) > $end) {
                \posix_kill($child, \SIGKILL);
                \pcntl_waitpid($child, $status);

                return 'it did not answer for ' . (int) self::PATIENCE . ' seconds';
            }
            \usleep(2_000);
        }

        return \is_int($status) && \pcntl_wifsignaled($status) && \pcntl_wtermsig($status) === \SIGUSR1 ? null : 'a process of its user could not open it';
    }
}
