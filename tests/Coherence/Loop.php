<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Revolt\EventLoop;

/** Serves several requests of one process at once, each in a fiber: by a scheduler of one's own, or an event loop. */
final class Loop
{
    public const NAMES = ['fibers', 'react', 'revolt', 'amp'];

    private static string $name = '';

    public static function isRunning(): bool
    {
        return self::$name !== '';
    }

    /**
     * Returns when all have ended.
     *
     * @param string                  $name  one of NAMES
     * @param list<\Closure(): void> $serve each serves one request after another
     */
    public static function run(string $name, array $serve): void
    {
        self::$name = $name;
        match ($name) {
            'fibers' => self::take($serve),
            'react' => self::react($serve),
            'revolt' => self::revolt($serve),
            'amp' => \Amp\Future\await(\array_map(\Amp\async(...), $serve)),
            default => throw new \InvalidArgumentException("There is no loop \"$name\"."),
        };
        self::$name = '';
    }

    /**
     * Serves one request in a fiber of its own, and returns after its end.
     *
     * @param \Closure(): void $work
     */
    public static function request(\Closure $work): void
    {
        if (self::$name === 'amp') {
            \Amp\async($work)->await();

            return;
        }
        $suspension = self::$name === 'revolt' ? EventLoop::getSuspension() : null;
        if ($suspension !== null) {
            EventLoop::queue(static function () use ($work, $suspension): void {
                $work();
                $suspension->resume();
            });
            $suspension->suspend();

            return;
        }
        $fiber = new \Fiber($work);
        for ($fiber->start(); !$fiber->isTerminated(); $fiber->resume()) {
            \Fiber::suspend();
        }
    }

    /** Lets the others go on. */
    public static function pause(): void
    {
        if (self::$name === 'amp') {
            \Amp\delay(\mt_rand(0, 3) / 1000);
        } elseif (self::$name === 'revolt') {
            $suspension = EventLoop::getSuspension();
            EventLoop::delay(\mt_rand(0, 3) / 1000, static fn() => $suspension->resume());
            $suspension->suspend();
        } else {
            \Fiber::suspend();
        }
    }

    /** @param list<\Closure(): void> $serve */
    private static function take(array $serve): void
    {
        $fibers = \array_map(static fn(\Closure $one): \Fiber => new \Fiber($one), $serve);
        while ($fibers !== []) {
            $i = \array_rand($fibers);
            self::step($fibers[$i]);
            if ($fibers[$i]->isTerminated()) {
                unset($fibers[$i]);
            }
        }
    }

    /** @param list<\Closure(): void> $serve */
    private static function react(array $serve): void
    {
        $go = static function (\Fiber $fiber, \Closure $go): void {
            self::step($fiber);
            $next = static fn() => $go($fiber, $go);
            $fiber->isTerminated() || (\mt_rand(0, 1) === 0 ? \React\EventLoop\Loop::futureTick($next) : \React\EventLoop\Loop::addTimer(\mt_rand(0, 3) / 1000, $next));
        };
        foreach ($serve as $one) {
            \React\EventLoop\Loop::futureTick(static fn() => $go(new \Fiber($one), $go));
        }
        \React\EventLoop\Loop::run();
    }

    /** @param list<\Closure(): void> $serve */
    private static function revolt(array $serve): void
    {
        \array_map(EventLoop::queue(...), $serve);
        EventLoop::run();
    }

    /** @param \Fiber<null, null, null, null> $fiber */
    private static function step(\Fiber $fiber): void
    {
        $fiber->isStarted() ? $fiber->resume() : $fiber->start();
    }
}
