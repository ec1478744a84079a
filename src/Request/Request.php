<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Codec;
use Larder\Codec\EntrySigner;
use Larder\Near\Near;
use Larder\System\Coroutine;
use Larder\System\Fork;
use Larder\System\Signals;

/**
 * Holds everything that one request works with. Begins its view, and commits its fills before its response ends.
 */
final class Request
{
    public readonly View $view;

    // Made on first use: a request that only reads from memory needs none of these.
    public ?Reader $reader = null;
    private ?Writes $writes = null;
    private ?Sets $sets = null;
    private ?Fills $fills = null;
    private ?Deletes $deletes = null;
    private ?Marks $marks = null;
    private ?Swaps $swaps = null;
    private ?Intents $intents = null;
    private ?Remember $remember = null;
    /** Whether this process may be forked: if not, $reader may be used as it is. */
    public readonly bool $forks;
    private int $process;

    /** The open database transaction, if any. */
    public ?Transaction $transaction = null;

    /** @var array<int, \WeakReference<self>> the objects whose request ends with PHP's */
    private static array $open = [];

    /** @var ?\WeakMap<object, self> what each other coroutine sees, as long as that runs: its view, copies, fills, intents, leases, transaction */
    private ?\WeakMap $others = null;

    /** @var array<string, int> what coroutines that have ended did: see counts() */
    private array $past = [];

    /** Calls of the truth tier when the request ended last. */
    private int $ended = 0;

    /** Those that the observer knows of. */
    private int $told = 0;
    private static bool $registered = false;

    /**
     * @param int     $lease milliseconds that a computation may take
     * @param bool    $lazy  see View
     * @param ?string $local see Cache::local()
     * @param ?\WeakReference<self> $main the main program's, if this is another coroutine's
     */
    public function __construct(
        public readonly Truth $truth,
        private readonly ?Near $near,
        /** Null: records are not signed. */
        private readonly ?EntrySigner $signer,
        public readonly Codec $codec,
        private readonly int $lease,
        /** Which tier the truth is: near, disk or far. */
        public readonly string $last,
        private readonly bool $lazy = false,
        public readonly ?string $local = null,
        public readonly ?\WeakReference $main = null,
        OpenTransactions $transactions = new OpenTransactions(),
        ?Observer $observer = null,
    ) {
        $this->forks = Fork::isPossible();
        $this->process = $this->forks ? Fork::pid() : 0;
        $this->view = new View($truth, $near, $lazy, $transactions, $observer);
        $observer === null || self::endWithPhp();
        self::$open[\spl_object_id($this)] = \WeakReference::create($this);
    }

    public function __destruct()
    {
        $this->finish();
        unset(self::$open[\spl_object_id($this)]);
        $main = $this->main?->get();
        if ($main !== null) {
            $main->past = self::sum($main->past, $this->counts());
        }
    }

    /** @return array{dropped: int, bounded: int, refused: int} what the table of conflicts decided */
    public function conflicts(): array
    {
        $counts = $this->counts();

        return ['dropped' => $counts['dropped'] ?? 0, 'bounded' => $counts['bounded'] ?? 0, 'refused' => $counts['refused'] ?? 0];
    }

    /** @return array<string, int> what all coroutines did: with the truth tier and the near tier, and what the table of conflicts decided */
    public function counts(): array
    {
        $sum = self::sum([
            'hits' => $this->truth->hits,
            'misses' => $this->truth->misses,
            'writes' => $this->truth->writes,
            'calls' => $this->truth->calls,
            'nearHits' => $this->reader->nearHits ?? 0,
            'nearMisses' => $this->reader->nearMisses ?? 0,
            'dropped' => $this->writes->dropped ?? 0,
            'bounded' => $this->writes->bounded ?? 0,
            'refused' => $this->writes->refused ?? 0,
        ], $this->past);
        foreach ($this->others ?? [] as $other) {
            $sum = self::sum($sum, $other->counts());
        }

        return $sum;
    }

    /**
     * @param array<string, int> $one
     * @param array<string, int> $other
     *
     * @return array<string, int>
     */
    private static function sum(array $one, array $other): array
    {
        foreach ($other as $name => $count) {
            $one[$name] = ($one[$name] ?? 0) + $count;
        }

        return $one;
    }

    /** What the coroutine sees: a request of its own, whose view begins with its first call. It ends with the coroutine. */
    public function of(object $coroutine): self
    {
        /** @var \WeakMap<object, self> $others */
        $others = $this->others ?? new \WeakMap();
        // Here and below a destructor that the garbage collector runs may use the cache, and so have made what is made here: then that one stays.
        $this->others ??= $others;
        $beside = $this->others[$coroutine] ?? $this->beside();

        return $this->others[$coroutine] ??= $beside;
    }

    private function beside(): self
    {
        $other = new self(
            $this->truth->apart(),
            $this->near,
            $this->signer,
            $this->codec,
            $this->lease,
            $this->last,
            $this->lazy,
            $this->local,
            \WeakReference::create($this),
            $this->view->transactions,
            $this->view->observer,
        );
        // Where the first read begins the view, the application asks the cache before its database.
        if ($other->view->isBegun) {
            $other->view->history->beginBefore($this->view->history->epoch, $this->view->history->start);
        }

        return $other;
    }

    /** Another request over the same tiers, whose view begins with its first read where that saves a round trip. */
    public function apart(): self
    {
        return new self($this->truth->apart(), $this->near, $this->signer, $this->codec, $this->lease, $this->last, true, $this->local, observer: $this->view->observer);
    }

    /** Each call of the application gets the reader here for its first read. */
    public function reader(): Reader
    {
        if ($this->forks && Fork::pid() !== $this->process) {
            $this->noticeFork();
        }

        if ($this->reader !== null) {
            return $this->reader;
        }
        \PHP_SAPI === 'cli' || \class_exists(Reader::class, false) || \is_file(__DIR__ . '/../../classes/store.php') && require __DIR__ . '/../../classes/store.php';

        // Not before: a request that finds all in near memory has nothing to do at its end.
        self::$registered || self::endWithPhp();

        $made = new Reader($this->view, $this->truth, $this->signer ?? new EntrySigner(null));

        return $this->reader ??= $made;
    }

    /**
     * Each call of the application that writes comes here first, by one of the methods that follow.
     *
     * @param bool $begins false: it reads before it writes, and that begins the view
     */
    private function writes(bool $begins = true): Writes
    {
        $this->forks && $this->noticeFork();
        $this->view->calls++;
        !$begins || $this->view->isBegun || $this->view->start();

        $made = $this->writes ?? new Writes($this->view, $this->reader(), $this->truth);

        return $this->writes ??= $made;
    }

    public function sets(): Sets
    {
        $writes = $this->writes();

        return $this->sets ??= new Sets($writes, $this->view, $this->reader(), $this->truth);
    }

    public function deletes(bool $begins = true): Deletes
    {
        $writes = $this->writes($begins);

        return $this->deletes ??= new Deletes($writes, $this->view, $this->truth);
    }

    public function fills(bool $begins = true): Fills
    {
        $writes = $this->writes($begins);

        $made = $this->fills ?? new Fills($writes, $this->view, $this->reader(), $this->truth, $this->deletes($begins));

        return $this->fills ??= $made;
    }

    public function marks(): Marks
    {
        $writes = $this->writes();

        return $this->marks ??= new Marks($writes, $this->view, $this->truth, $this->deletes());
    }

    public function swaps(): Swaps
    {
        $writes = $this->writes();

        return $this->swaps ??= new Swaps($writes, $this->view, $this->reader(), $this->truth, $this->fills(), $this->deletes());
    }

    public function intents(): Intents
    {
        $writes = $this->writes();

        $made = $this->intents ?? new Intents($this->view, $this->reader(), $this->truth, $writes, $this->marks());

        return $this->intents ??= $made;
    }

    /** Drops a key's copies from the request tier and the near tier. */
    public function gone(string $key, Space $space): void
    {
        $this->writes?->gone($key, $space);
    }

    /** A set or delete of the key has ended this request's intent on it, if it had one. */
    public function ended(string $key): void
    {
        $this->intents?->ended($key);
    }

    public function remember(): Remember
    {
        $reader = $this->reader();

        return $this->remember ??= new Remember($this->view, $reader, $this->truth, $this->view->leases(), $this->lease);
    }

    /** Called by a get whose time has come: see View::$due. */
    public function check(int $now): void
    {
        $this->noticeFork();
        if ($now >= $this->view->renewal) {
            $this->renew();
            $this->tell(1);
        }
    }

    public function beginTransaction(): void
    {
        $writes = $this->writes();
        $made = $this->transaction ?? new Transaction($this->view, $writes, $this->sets(), $this->deletes(), $this->intents());
        $this->transaction ??= $made;
        $this->transaction->begin();
    }

    public function rollBackTo(): void
    {
        $this->noticeFork();
        $this->transaction?->rollBackTo();
    }

    /** @return Verdict Store: the truth tier recorded everything; else the worst of Refused and Failed */
    public function endTransaction(bool $committed): Verdict
    {
        $this->noticeFork();
        $transaction = $this->transaction;
        if ($transaction === null) {
            return Verdict::Store;
        }
        $calls = $this->view->calls;
        // What a destructor changes in the middle of the commit is not in the transaction.
        $transaction->isInner() || $this->transaction = null;

        return ($committed ? $transaction->commit($calls) : $transaction->rollBack($calls)) ?? Verdict::Store;
    }

    /** Asks the journal what others changed, and drops the copies of it. */
    public function renew(): void
    {
        $this->noticeFork();
        $this->view->renew();
        $this->transaction?->show();
    }

    /** Drops the copies of this request, and of its coroutines': the time that they count by was set. */
    public function dropCopies(): void
    {
        $this->view->forget(new Space());
        foreach ($this->others ?? [] as $other) {
            $other->dropCopies();
        }
    }

    /** Makes a forked child a request of its own: waiting fills, leases and intents are its parent's. */
    private function noticeFork(): void
    {
        if ($this->forks && Fork::pid() !== $this->process) {
            $this->process = Fork::$last;
            $this->view->leaveParent();
            $this->view->observer?->leaveParent();
            $this->told = $this->truth->calls;
            $this->writes?->forget();
            $this->intents?->forget();
            $this->transaction?->leaveParent();
            $this->transaction = null;
        }
    }

    /**
     * Writes the fills that wait.
     *
     * @param bool $ends the request ends: what it is computing is not waited for any longer
     *
     * @return Verdict the worst on one of them
     */
    public function writeFills(bool $ends = false): Verdict
    {
        $this->noticeFork();
        $verdict = Verdict::Store;
        $leases = $this->view->leases?->releaseAll($ends) ?? [];
        if (($this->writes !== null && $this->writes->pending !== []) || $leases !== []) {
            $verdict = $this->fills()->commit($leases);
        }
        foreach ($this->others ?? [] as $coroutine => $other) {
            Coroutine::hasEnded($coroutine) && $other->finish();
        }

        return $verdict;
    }

    /** Begins a new request in the same process: the application holds nothing that it read before. */
    public function refresh(): void
    {
        if ($this->transaction !== null) {
            $this->renew();

            return;
        }
        $this->finish();
        $this->view->begin();
    }

    /** For every request of the calling coroutine's. */
    public static function refreshAll(): void
    {
        foreach (self::ofCaller() as $request) {
            $request->refresh();
        }
    }

    /** Asks what others have changed, for the same requests, which are going to read anew what they change. */
    public static function renewAll(): void
    {
        foreach (self::ofCaller() as $request) {
            $request->renew();
            $request->view->history->readAnew();
        }
    }

    /** @return iterable<self> */
    private static function ofCaller(): iterable
    {
        $coroutine = Coroutine::current();
        foreach (self::$open as $reference) {
            $request = $reference->get();
            if ($request !== null && $request->main === null) {
                $here = $coroutine === null ? $request : $request->others[$coroutine] ?? null;
                if ($here !== null) {
                    yield $here;
                }
            }
        }
    }

    private function finish(): void
    {
        if ($this->truth->calls === $this->ended && ($this->writes === null || $this->writes->pending === []) && $this->transaction === null) {
            // PHP ended the request, and now drops it, and the cache was not used in between; or it was not used at all.
            $this->tell();

            return;
        }
        $held = Signals::hold();
        while ($this->transaction !== null) {
            // The database rolls back a transaction that ends without COMMIT.
            $this->endTransaction(false);
        }
        $this->writeFills(true);
        $this->intents?->end();
        $this->truth->tidy();
        $this->ended = $this->truth->calls;
        $this->tell();
    }

    /**
     * Writes what was counted.
     *
     * @param int $underWay gets
     */
    private function tell(int $underWay = 0): void
    {
        if ($this->view->observer !== null) {
            $held = Signals::hold();
            $this->view->observer->calls($this->truth->calls - $this->told);
            $this->told = $this->truth->calls;
            $this->view->observer->flush($underWay);
        }
    }

    private static function endWithPhp(): void
    {
        if (!self::$registered) {
            self::$registered = true;
            \register_shutdown_function(self::shutdown(...));
        }
    }

    /** @param bool $last false: other shutdown functions may still commit a transaction */
    private static function shutdown(bool $last = false): void
    {
        foreach (self::$open as $reference) {
            $request = $reference->get();
            if ($request === null) {
                continue;
            }
            if ($last || $request->transaction === null) {
                $request->finish();
            } else {
                \register_shutdown_function(self::shutdown(...), true);
            }
        }
    }
}
