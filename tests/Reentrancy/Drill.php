<?php

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

use Larder\Cache;
use Larder\Codec\NotStorable;
use Larder\Request\Request;
use Larder\Request\Space;

/**
 * Calls of the front door one after the other, in the middle of which other calls come: what each returns is held
 * against Model.
 */
final class Drill
{
    /** Statements of the cache passed so far. */
    public int $steps = 0;

    /** Times that calls came in the middle. */
    public int $interruptions = 0;

    /** Writes in the middle that said false, as they may where an engine's lock is held by the call outside. */
    public int $refused = 0;

    /** @var list<string> what was wrong */
    public array $failures = [];

    /** @var array<string, true> where a finally ran while signals were let in */
    private static array $open = [];

    /** Whether the statement that ends now is not the cache's: Instrumented has put it in front of a finally's first one. */
    private static bool $isAdded = false;

    private Cache $cache;

    /** @var array<string, Cache> by name, '' the root */
    private array $spaces = [];

    private readonly Model $model;

    /** Over Memcached a write that others have overtaken may be given up: it says false, or is taken away again. */
    private readonly bool $yields;

    /** @var array<string, list<int>> by counter: what was given out */
    private array $counts = [];

    /** @var array<string, int> by counter: calls of which nobody knows whether they counted */
    private array $unknown = [];

    /** @var array<string, int> by lock: how many got it */
    private array $locks = [];

    /** @var array<string, int> by counter or lock: failures of its store that were known when it last began */
    private array $failed = [];

    private int $serial = 0;
    private string $call = '';

    /** The key that the outer call is about; '' none. */
    private string $key = '';
    private bool $busy = false;

    /**
     * @param array<string, mixed> $options for Cache::open()
     * @param \Closure(int): bool  $comes   whether calls come after this statement; 0: whenever an object of a value is stored or read
     * @param bool                 $throws  then an exception is thrown, as a signal's handler may
     * @param \Closure(\Closure(): void): void $before gets what lets calls come, before each call
     */
    public function __construct(
        private readonly array $options,
        private readonly \Closure $comes,
        private readonly bool $throws,
        private readonly \Closure $before,
    ) {
        $this->model = new Model();
        $this->yields = \is_string($options['dsn']) && \str_starts_with($options['dsn'], 'memcached:');
    }

    public function run(): void
    {
        \set_error_handler(function (int $level, string $message, string $file, int $line): bool {
            $this->failures[] = "$message in $file:$line, in $this->call";

            return true;
        });
        Waking::$does = ($this->comes)(0) ? $this->interrupt(...) : null;
        try {
            $this->attempt('open', function (): void {
                $this->cache = Cache::open($this->options);
            });
            $this->cache ??= Cache::open($this->options);
            $this->spaces = ['' => $this->cache, 'g' => $this->cache->group('g')];
            foreach ($this->script() as [$name, $key, $call]) {
                $this->key = $key;
                ($this->before)($this->interrupt(...));
                $this->attempt($name . ' ' . $key, $call);
            }
            $this->key = '';
            $this->compare();
            // No call comes any more when its last object goes.
            $this->spaces = [];
            unset($this->cache);
        } finally {
            Waking::$does = null;
            \restore_error_handler();
        }
    }

    /** Called after each statement of the cache: now and then other calls come. */
    public function tick(): void
    {
        if (self::$isAdded) {
            self::$isAdded = false;

            return;
        }
        if (!$this->busy && ($this->comes)(++$this->steps)) {
            $this->interrupt();
        }
    }

    /** Called by each finally of the cache: one that a signal's handler may leave out by throwing guards nothing. */
    public static function finally(): void
    {
        self::$isAdded = true;
        if (self::letsIn()) {
            $place = \debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 1)[0];
            self::$open[\basename($place['file'] ?? '') . ':' . ($place['line'] ?? 0)] = true;
        }
    }

    private static function letsIn(): bool
    {
        return \function_exists('pcntl_async_signals') && \pcntl_async_signals();
    }

    /** What comes in the middle. */
    public function interrupt(): void
    {
        if ($this->busy || $this->model->isNoting || $this->spaces === []) {
            return;
        }
        $this->busy = true;
        $outer = $this->call;
        $this->call = 'a call in the middle of ' . $outer . self::place();
        $this->interruptions++;
        $this->model->interrupt();
        try {
            $this->inner();
        } catch (\Throwable $wrong) {
            $this->failures[] = $this->call . ': ' . $wrong;
        } finally {
            $this->model->resume();
            $this->call = $outer;
            $this->busy = false;
        }
        if ($this->throws) {
            throw new Interruption();
        }
    }

    /** @return iterable<array{string, string, \Closure(): mixed}> */
    private function script(): iterable
    {
        for ($round = 0; $round < 2; $round++) {
            foreach (['k', 'a', 'o', 'g/k'] as $key) {
                yield ['get', $key, fn() => $this->get($key)];
                yield ['set', $key, fn() => $this->set($key)];
                yield ['get', $key, fn() => $this->get($key)];
                yield ['forget', $key, fn() => $this->space($key)->forget(self::name($key))];
                yield ['get', $key, fn() => $this->get($key)];
                yield ['set', $key, fn() => $this->set($key)];
            }
            yield ['add', "l$round", fn() => $this->lock("l$round")];
            yield ['add again', "l$round", fn() => $this->lock("l$round")];
            yield ['increment', 'n', fn() => $this->count('n')];
            yield ['update', 'n', fn() => $this->count('n', true)];
            yield ['remember', "r$round", fn() => $this->remember("r$round")];
            yield ['fill', "f$round", fn() => $this->fill("f$round")];
            foreach (['set', 'delete'] as $change) {
                yield ["remember and $change meanwhile", "s$round$change", fn() => $this->rememberOver("s$round$change", $change)];
                yield ["fill and $change meanwhile", "u$round$change", fn() => $this->fillOver("u$round$change", $change)];
            }
            yield ['set with a tag', 't', fn() => $this->set('t')];
            yield ['writeFills', '', fn() => $this->cache->writeFills()];
            foreach (['t', "f$round", "r$round", "s{$round}set", "s{$round}delete", "u{$round}set", "u{$round}delete"] as $key) {
                yield ['get', $key, fn() => $this->get($key)];
            }
            yield ['invalidateTags', 't', fn() => $this->drop(['t'], fn(): bool => $this->cache->invalidateTags('tag'))];
            yield ['get', 't', fn() => $this->get('t')];
            yield ['flush', 'g/k', fn() => $this->drop(['g/k'], fn(): bool => $this->spaces['g']->flush())];
            yield ['get', 'g/k', fn() => $this->get('g/k')];
            $keys = ['m1', 'm2', 'a', 'k'];
            yield ['setMultiple', 'm1', fn() => $this->setMultiple($keys)];
            yield ['refresh', '', fn() => $this->cache->refresh()];
            yield ['getMultiple', 'm2', fn() => $this->getMultiple($keys)];
            yield ['deleteMultiple', 'm2', fn() => $this->drop(['m1', 'm2'], fn(): bool => $this->cache->deleteMultiple(['m1', 'm2']))];
            yield ['getMultiple', 'm1', fn() => $this->getMultiple($keys)];
            yield ['intend', 'i', fn() => $this->drop(['i'], function (): bool {
                $this->cache->intend('i');

                return true;
            })];
            yield ['set', 'i', fn() => $this->set('i')];
            yield ['delete', 'k', fn() => $this->drop(['k'], fn(): bool => $this->cache->delete('k'))];
            yield ['get', 'k', fn() => $this->get('k')];
            yield ['learn', '', fn() => $this->cache->learn()];
            yield ['refresh', '', fn() => $this->cache->refresh()];
            yield ['prefetch', 'a', fn() => $this->cache->prefetch([[$this->cache, ['a', 'k', 'i']], [$this->spaces['g'], ['k']]])];
            yield ['get', 'a', fn() => $this->get('a')];
        }
    }

    private function inner(): void
    {
        $lock = 'hl' . $this->interruptions;
        $this->get('h');
        $this->set('h');
        $this->get('h');
        $this->lock($lock);
        $this->lock($lock);
        $this->count('hn');
        $this->drop(['hd'], fn(): bool => $this->cache->delete('hd'));
        $this->get('hd');
        $this->set('hd');
        $key = $this->key;
        // Once: a call that is overtaken again and again gives up.
        $this->key = '';
        if ($key === '') {
            return;
        }
        if ($key[0] === 'l') {
            $this->lock($key);
        } elseif ($key === 'n') {
            $this->count($key);
        } else {
            match ($this->steps % 5) {
                0, 1 => $this->get($key),
                2, 3 => $this->set($key),
                default => $this->drop([$key], fn(): bool => $this->space($key)->delete(self::name($key))),
            };
            $this->get($key);
        }
    }

    /** In the end, and for the next request: only what is right. */
    private function compare(): void
    {
        foreach ($this->model->keys() as $key) {
            $this->attempt('get in the end ' . $key, fn() => $this->get($key));
        }
        // The rest is looked at in peace.
        $this->busy = true;
        foreach (\array_keys(self::$open) as $place) {
            $this->failures[] = 'signals are let in while a finally runs, and may leave it out: ' . $place;
        }
        self::$open = [];
        if (self::letsIn()) {
            $this->cache->refresh();
            $tiers = (new \ReflectionProperty(Cache::class, 'request'))->getValue($this->cache);
            \assert($tiers instanceof Request);
            foreach (['r0', 'r1', 's0set', 's1delete'] as $key) {
                $lease = Space::lease((new \ReflectionProperty(Cache::class, 'space'))->getValue($this->cache)->key($key));
                if (isset($tiers->truth->read([$lease])->records[$lease])) {
                    $this->failures[] = "$key: the lease was not given back";
                }
            }
        }
        foreach ($this->counts as $counter => $given) {
            $count = $this->cache->get($counter);
            $unknown = $this->unknown[$counter] ?? 0;
            // While the store is left alone nothing is there.
            if ($given !== [] && !($count === null && $this->failed() > 0) && (!\is_int($count) || $count < \count($given) || $count > \count($given) + $unknown)) {
                $this->failures[] = "$counter counted " . \count($given) . " times (and $unknown that nobody knows of) is " . \var_export($count, true);
            }
        }
        if ($this->options['dsn'] !== 'memory://') {
            $this->cache = Cache::open($this->options);
            $this->spaces = ['' => $this->cache, 'g' => $this->cache->group('g')];
            foreach ($this->model->keys() as $key) {
                $this->attempt('get of the next request ' . $key, fn() => $this->get($key));
            }
        }
    }

    /** @param \Closure(): mixed $call */
    private function attempt(string $name, \Closure $call): void
    {
        $this->call = $name;
        $this->model->begin([]);
        try {
            $call();
        } catch (Interruption) {
            $this->model->end(false);
        } catch (\Throwable $wrong) {
            $this->model->end(false);
            // What is thrown while a value is serialized counts as thrown by its class.
            if (!$wrong instanceof NotStorable || !$wrong->getPrevious() instanceof Interruption) {
                $this->failures[] = $name . ': ' . $wrong;
            }
        }
    }

    private function get(string $key): void
    {
        $this->read($key, $this->space($key)->get(self::name($key)));
    }

    private function read(string $key, mixed $value): void
    {
        $text = match (true) {
            $value === null => '',
            \is_array($value) => $value['text'] ?? '?',
            $value instanceof Waking => $value->text,
            default => $value,
        };
        $allowed = $this->model->allowed($key);
        if (!\is_string($text) || (!isset($allowed[$text]) && !($this->yields && $text === ''))) {
            $this->failures[] = "$this->call: $key is " . \var_export($value, true) . ', not ' . \implode(' or ', \array_map(
                static fn(int|string $one): string => $one === '' ? 'missing' : (string) $one,
                \array_keys($allowed),
            ));
        }
    }

    private function set(string $key): void
    {
        [$text, $value] = $this->value($key);
        $this->change([$key => $text], fn(): bool => $this->space($key)->set(self::name($key), $value, 0, $key === 't' ? ['tag'] : []));
    }

    private function fill(string $key): void
    {
        [$text, $value] = $this->value($key);
        $this->change([$key => $text], fn(): bool => $this->space($key)->fill(self::name($key), $value));
        // It is stored with the request's end, if nobody came between.
        $this->model->maybeLost($key);
    }

    /** @param non-empty-list<string> $keys of the root */
    private function setMultiple(array $keys): void
    {
        $texts = $values = [];
        foreach ($keys as $key) {
            [$texts[$key], $values[$key]] = $this->value($key);
        }
        $this->change($texts, fn(): bool => $this->cache->setMultiple($values));
    }

    /** @param non-empty-list<string> $keys of the root */
    private function getMultiple(array $keys): void
    {
        $values = $this->cache->getMultiple($keys);
        foreach ($keys as $key) {
            $this->read($key, $values[$key] ?? null);
        }
    }

    private function remember(string $key): void
    {
        [$text, $value] = $this->value($key);
        $computed = false;
        $this->model->begin([$key => $text]);
        $found = $this->cache->remember($key, static function () use ($value, &$computed): mixed {
            $computed = true;

            return $value;
        });
        if (!$computed) {
            $this->read($key, $found);
            $this->model->undo();
        }
        $this->model->end(true);
        $this->model->maybeLost($key);
    }

    /** What was computed while the request changed the key itself is not stored. */
    private function rememberOver(string $key, string $change): void
    {
        [$text, $value] = $this->value($key);
        $this->model->begin([$key => $text]);
        $this->cache->remember($key, function () use ($key, $change, $value): mixed {
            $this->meanwhile($key, $change);

            return $value;
        });
        $this->model->undo();
        $this->model->end(true);
        $this->model->maybeLost($key);
    }

    /** The same in another fiber. */
    private function fillOver(string $key, string $change): void
    {
        [$text, $value] = $this->value($key);
        $this->model->begin([$key => $text]);
        $fiber = new \Fiber(function () use ($key, $value): void {
            // A call in its middle may have set the key: then there is nothing to compute.
            if ($this->cache->get($key) === null) {
                \Fiber::suspend();
                $this->cache->fill($key, $value);
            }
        });
        // A call in the middle of it would be of its request, whose changes this one learns of a second later.
        [$busy, $this->busy] = [$this->busy, true];
        $fiber->start();
        $this->busy = $busy;
        $this->meanwhile($key, $change);
        $this->busy = true;
        $fiber->isTerminated() || $fiber->resume();
        unset($fiber);
        $this->busy = $busy;
        $this->model->undo();
        $this->model->end(true);
        $this->model->maybeLost($key);
    }

    private function meanwhile(string $key, string $change): void
    {
        $busy = $this->busy;
        $this->busy = true;
        try {
            $change === 'set' ? $this->set($key) : $this->drop([$key], fn(): bool => $this->cache->delete($key));
        } finally {
            $this->busy = $busy;
        }
    }

    /**
     * @param list<string>    $keys
     * @param \Closure(): bool $call
     */
    private function drop(array $keys, \Closure $call): void
    {
        $this->change(\array_fill_keys($keys, ''), $call);
    }

    /**
     * @param array<string, string> $texts
     * @param \Closure(): bool      $call
     */
    private function change(array $texts, \Closure $call): void
    {
        if ($this->busy) {
            $done = $call();
            $this->refused += $done ? 0 : 1;
            foreach ($texts as $key => $text) {
                $this->model->wrote($key, $text, $done);
            }

            return;
        }
        $this->model->begin($texts);
        $done = $call();
        $this->model->end($done);
        // A fill is refused if a call in the middle has changed its key.
        if (!$done && !$this->yields && !(\str_starts_with($this->call, 'fill') && $this->model->isTouched((string) \array_key_first($texts)))) {
            $this->failures[] = "$this->call says false: " . $this->cache->lastOutcome()->name;
        }
    }

    private function lock(string $key): void
    {
        $this->locks[$key] ??= 0;
        if ($this->cache->add($key, 1)) {
            if (++$this->locks[$key] > 1 && !$this->beginsAgain($key)) {
                $this->failures[] = "$this->call: $key was given to two";
            }
        }
    }

    private function count(string $key, bool $update = false): void
    {
        $this->counts[$key] ??= [];
        $this->unknown[$key] = ($this->unknown[$key] ?? 0) + 1;
        // Starts at 1 where it is not there, so that what is missing is missed.
        $count = $update ? $this->cache->update($key, static fn(mixed $there): int => \is_int($there) ? $there + 1 : -1) : $this->cache->increment($key);
        $this->unknown[$key]--;
        if (\is_int($count)) {
            if ($count === 1 && $this->counts[$key] !== [] && $this->beginsAgain($key)) {
                $this->counts[$key] = [];
            }
            if ($count < 1 || \in_array($count, $this->counts[$key], true)) {
                $this->failures[] = "$this->call: $key gave $count twice";
            }
            $this->counts[$key][] = $count;
        } elseif ($this->busy || $this->yields || ($update && $this->counts[$key] === [])) {
            $this->refused++;
        } else {
            $this->failures[] = "$this->call says " . \var_export($count, true);
        }
    }

    /** Whether its store has failed since: what could not be invalidated then may be invalidated by a flush of everything. */
    private function beginsAgain(string $key): bool
    {
        $known = $this->failed[$key] ?? 0;
        $this->failed[$key] = $this->failed();

        return $this->failed[$key] > $known;
    }

    private function failed(): int
    {
        return (int) \array_sum(\array_column($this->cache->stats(false), 'errors'));
    }

    /** @return array{string, mixed} its text, and a value of the form that the key has */
    private function value(string $key): array
    {
        $text = $key . '#' . ++$this->serial . ($key === 'm2' ? \str_repeat('.', 3000) : '');

        return [$text, match ($key) {
            'a' => ['text' => $text, 'more' => [1, 2.5, null]],
            'o' => new Waking($text),
            default => $text,
        }];
    }

    private function space(string $key): Cache
    {
        return $this->spaces[\str_contains($key, '/') ? 'g' : ''];
    }

    private static function name(string $key): string
    {
        return \str_contains($key, '/') ? \substr($key, 2) : $key;
    }

    /** Where in the cache's code. */
    private static function place(): string
    {
        foreach (\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 12) as $frame) {
            $file = $frame['file'] ?? '';
            if ($file !== '' && !\str_contains($file, '/tests/')) {
                return ' at ' . \basename($file) . ':' . ($frame['line'] ?? 0);
            }
        }

        return '';
    }
}
