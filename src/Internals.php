<?php

declare(strict_types=1);

namespace Larder;

use Larder\Request\Observer;
use Larder\Request\Report;
use Larder\Request\Request;
use Larder\Request\Space;
use Larder\System\CountLog;
use Larder\System\Failure;
use Larder\System\FlushHistory;
use Larder\System\PurgeCounter;
use Larder\System\Signals;

/**
 * What the page cache, the WordPress plugin and the bridges need of a cache beyond its public interface: mostly for copies outside
 * the tiers, which must end with what they were made of.
 *
 * @internal
 */
final class Internals
{
    public function __construct(private readonly Request $request, private readonly Space $space) {}

    /**
     * A group in a group, and so on, without a Cache for each one around it.
     *
     * @param non-empty-list<string> $names outermost first; none is empty
     */
    public function within(array $names, bool $cacheOnly = false): Cache
    {
        return Cache::over($this->request, $this->space->within($names, $cacheOnly));
    }

    /** Begins this request's view, which with the option lazy begins with the first read: from now on it counts what others change. */
    public function start(): void
    {
        $this->request->view->isBegun || $this->request->renew();
    }

    /** The position in the journal up to which this request knows what others have changed. */
    public function position(): int
    {
        return $this->request->view->history->seen;
    }

    /**
     * Whether the truth tier has failed, and is left alone for a while.
     *
     * @phpstan-impure
     */
    public function isDown(): bool
    {
        return $this->request->truth->down();
    }

    /** Logs a line about the copies outside the tiers: at most one a minute about each subject, from each process. */
    public function report(string $subject, string $message): void
    {
        $this->request->truth->guard->report($subject, $message);
    }

    /** Lets the next call try a failed truth tier again: it may wait for the time-out once more. */
    public function retry(): void
    {
        $this->request->truth->retry();
    }

    /**
     * Gives a path prefix in an existing private directory, for files in which an application notes something about this
     * cache on this server.
     *
     * @return ?string null: there is no such directory
     */
    public function local(): ?string
    {
        return $this->request->local;
    }

    /**
     * What requests of all processes have counted, of those whose cache was opened with the option metrics.
     *
     * @return array<string, int> by name: see Observer
     *
     * @throws Failure they cannot be read now
     */
    public function counts(): array
    {
        $local = $this->local();

        return $local === null ? [] : (new CountLog($local . Observer::FILE))->read();
    }

    /** Who has flushed this cache, or a group of it; null: there is no directory for that, or only this process has it. */
    public function flushes(): ?FlushHistory
    {
        $local = $this->local();

        return $local === null || $this->request->last === 'near' ? null : new FlushHistory("$local-flushes");
    }

    /** @return array{epoch: string, lag: int, pending: int} see Report::condition() */
    public function condition(): array
    {
        return Report::condition($this->request);
    }

    /** The file that names the directories which a flush empties too (see StaticCopies); null: there can be none. */
    public function mirrors(): ?string
    {
        $local = $this->local();

        return $local === null ? null : "$local-trees";
    }

    /**
     * Tells in one stat, without a Cache, whether this space was flushed or a tag of it invalidated: for copies outside the
     * cache.
     *
     * @return ?PurgeCounter null: the truth tier is not on this server's disk
     */
    public function purgeCounter(): ?PurgeCounter
    {
        return $this->request->truth->purges()?->of($this->space->path);
    }

    /**
     * Whether what was read since the last refresh() may be copied under the counter's value from before it: not while a
     * transaction is about to flush or invalidate some of it, for if its process dies nothing of that is valid any longer.
     */
    public function isCopyable(): bool
    {
        return !$this->request->view->hasHeldMarkers();
    }

    /**
     * Asks the journal what has changed since an earlier answer, for copies that lie outside the tiers.
     *
     * @param string $mark that the earlier answer gave; '': there was none
     *
     * @return ?array{mark: string, names: ?list<string>} see journalled(); names null: anything may have changed. Null: the
     *                                                    truth tier cannot be asked
     */
    public function journal(string $mark = ''): ?array
    {
        $held = Signals::hold();

        return $this->request->truth->changes($mark);
    }

    /**
     * The names under which journal() tells changes of a key, of tags, and of all that this space lies in.
     *
     * @return non-empty-list<string> of the key, of each tag, of each flush
     */
    public function journalled(string $key, string ...$tags): array
    {
        return [$this->space->key($key), ...$this->space->tags($tags), ...$this->space->flushes];
    }
}
