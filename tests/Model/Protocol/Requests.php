<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Protocol;

use Larder\Tests\Model\Machine;

/** What a request does: the patterns by which applications use a cache. */
final class Requests
{
    /** The bit that a process writes into the database. */
    private static function bit(): int
    {
        return 1 << (int) Machine::$running?->name;
    }

    /** @return array<string, \Closure(object): void> by name; each gets an Inside\Application */
    public static function all(): array
    {
        return self::ofOneKey() + self::ofMany() + self::meanwhile() + self::atomic() + self::ofLongLives() + self::transactions();
    }

    /** @return array<string, \Closure(): void> by name: what happens to the engines meanwhile */
    public static function events(): array
    {
        return self::failures() + [
            // FLUSHALL, a lost head, a restart, an emptied directory.
            'begins anew' => static function (): void {
                Machine::step('restart');
            },
            'forgets the flush' => static function (): void {
                Machine::step('forget', 'f:');
            },
            'forgets the tag' => static function (): void {
                Machine::step('forget', 't::t');
            },
        ];
    }

    /** @return array<string, \Closure(): void> by name: the truth tier is away for a while */
    public static function failures(): array
    {
        $away = static fn(array $servers, bool $arrives): \Closure => static function () use ($servers, $arrives): void {
            Machine::step('fail', $servers, $arrives);
            Machine::step('work');
        };

        return [
            'is away' => $away([0, 1], false),
            'is away from one server' => $away([0], false),
            'loses its answers' => $away([0], true),
        ];
    }

    /**
     * Every two of these, and each with itself.
     *
     * @param list<string> $names
     *
     * @return iterable<list<string>>
     */
    public static function pairs(array $names): iterable
    {
        foreach ($names as $i => $one) {
            foreach (\array_slice($names, $i) as $other) {
                yield [$one, $other];
            }
        }
    }

    /** @return array<string, \Closure(object): void> */
    public static function ofOneKey(): array
    {
        return [
            'reads and fills' => static function (object $request): void {
                $request->get('k') ?? $request->fill('k', $request->row('k'));
            },
            'reads and sets' => static function (object $request): void {
                $request->get('k') ?? $request->set('k', $request->row('k'));
            },
            'writes and sets' => static function (object $request): void {
                $request->change('k');
                $request->set('k', $request->row('k'));
            },
            // As WordPress with alloptions.
            'reads, modifies, writes' => static function (object $request): void {
                $value = $request->get('k') ?? $request->row('k');
                $request->change('k');
                $request->set('k', $value | self::bit());
            },
            'writes and deletes' => static function (object $request): void {
                $request->change('k');
                $request->delete('k');
            },
            'writes, reads, deletes, sets' => static function (object $request): void {
                $request->change('k');
                $value = $request->row('k');
                $request->delete('k');
                $request->set('k', $value);
            },
            'writes, deletes, fills' => static function (object $request): void {
                $request->change('k');
                $request->delete('k');
                $request->fill('k', $request->row('k'));
            },
            'fills, writes, deletes' => static function (object $request): void {
                $request->get('k') ?? $request->fill('k', $request->row('k'));
                $request->change('k');
                $request->delete('k');
            },
            'intends, writes, sets' => static function (object $request): void {
                $request->intend('k');
                $request->change('k');
                $request->set('k', $request->row('k'));
            },
            'intends, writes' => static function (object $request): void {
                $request->intend('k');
                $request->change('k');
            },
            'sets twice' => static function (object $request): void {
                $request->get('k') ?? $request->set('k', $request->row('k'));
                $request->change('k');
                $request->set('k', $request->row('k'));
            },
            'remembers' => static function (object $request): void {
                $request->cache->remember('k', static function () use ($request): int {
                    Machine::step('compute');

                    return $request->row('k');
                });
            },
        ];
    }

    /** @return array<string, \Closure(object): void> */
    public static function ofMany(): array
    {
        return [
            'fills tagged' => static function (object $request): void {
                $request->get('k') ?? $request->fill('k', $request->row('k'), ['t']);
            },
            'writes, sets tagged' => static function (object $request): void {
                $request->change('k');
                $request->set('k', $request->row('k'), ['t']);
            },
            'writes, invalidates' => static function (object $request): void {
                $request->change('k');
                if ($request->cache->invalidateTags('t')) {
                    $request->returned('k');
                }
            },
            'writes, flushes' => static function (object $request): void {
                $request->change('k', 'b');
                if ($request->cache->flush()) {
                    $request->returned('k', 'b');
                }
            },
            'fills two' => static function (object $request): void {
                $k = $request->get('k') ?? $request->row('k');
                $b = $request->get('b') ?? $request->row('b');
                $request->fill('k', $k);
                $request->fill('b', $b);
            },
            'sets two' => static function (object $request): void {
                $request->change('k', 'b');
                if ($request->cache->setMultiple(['k' => $request->row('k'), 'b' => $request->row('b')])) {
                    $request->returned('k', 'b');
                }
            },
            'reads two, sets the sum' => static function (object $request): void {
                $k = $request->get('k') ?? $request->row('k');
                $request->get('b') ?? $request->fill('b', $request->row('b'));
                $request->change('k');
                $request->set('k', $k | self::bit());
            },
        ];
    }

    /**
     * What the request does itself while it computes a value: another fiber of it, a signal's handler, a destructor.
     *
     * @return array<string, \Closure(object): void>
     */
    public static function meanwhile(): array
    {
        $remembers = static fn(\Closure $meanwhile): \Closure => static function (object $request) use ($meanwhile): void {
            $request->cache->remember('k', static function () use ($request, $meanwhile): int {
                $value = $request->row('k');
                $meanwhile($request);

                return $value;
            }, 0, ['t']);
        };
        $fails = static function (object $request): void {
            try {
                $request->cache->remember('k', static fn(): never => throw new \DomainException());
            } catch (\DomainException) {
            }
        };
        $deletes = static function (object $request): void {
            $request->change('k');
            $request->delete('k');
        };

        return [
            'remembers; meanwhile deletes' => $remembers($deletes),
            'remembers; meanwhile sets' => $remembers(static function (object $request): void {
                $request->change('k');
                $request->set('k', $request->row('k'));
            }),
            'remembers; meanwhile flushes' => $remembers(static function (object $request): void {
                $request->change('k');
                $request->cache->flush() && $request->returned('k');
            }),
            'remembers; meanwhile invalidates' => $remembers(static function (object $request): void {
                $request->change('k');
                $request->cache->invalidateTags('t') && $request->returned('k');
            }),
            'remembers; meanwhile intends' => $remembers(static function (object $request): void {
                $request->intend('k');
                $request->change('k');
            }),
            'remembers; meanwhile in a transaction: sets' => $remembers(static fn(object $request) => $request->transaction(static function () use ($request): void {
                $request->change('k');
                $request->tell($request->cache->set('k', $request->row('k')));
            }, ['k'])),
            'remembers; meanwhile another fails' => $remembers($fails),
            'remembers; meanwhile remembers' => $remembers(static fn(object $request) => $request->cache->remember('k', static fn(): int => $request->row('k'), 0, ['t'])),
            'reads; meanwhile deletes; fills' => static function (object $request) use ($deletes): void {
                if ($request->get('k') === null) {
                    $value = $request->row('k');
                    $deletes($request);
                    $request->fill('k', $value);
                }
            },
            'fills; then a computation fails' => static function (object $request) use ($fails): void {
                if ($request->get('k') === null) {
                    $request->fill('k', $request->row('k'));
                    $request->cache->forget('k');
                    $fails($request);
                }
            },
        ];
    }

    /** @return array<string, \Closure(object): void> */
    public static function atomic(): array
    {
        return [
            'increments' => static function (object $request): void {
                $count = $request->cache->increment('n');
                if ($count !== false) {
                    Machine::step('counted', $count);
                }
            },
            'increments twice' => static function (object $request): void {
                foreach ([1, 2] as $time) {
                    $count = $request->cache->increment('n');
                    if ($count !== false) {
                        Machine::step('counted', $count);
                    }
                }
            },
            'adds' => static function (object $request): void {
                if ($request->cache->add('n', 1)) {
                    Machine::step('counted', 1);
                }
            },
        ];
    }

    /** @return array<string, \Closure(object): void> */
    public static function ofLongLives(): array
    {
        return [
            'writes, deletes, refreshes' => static function (object $request): void {
                $request->change('k');
                $request->delete('k');
                $request->cache->refresh();
            },
            'writes, deletes, refreshes, fills' => static function (object $request): void {
                $request->change('k');
                $request->delete('k');
                $request->cache->refresh();
                $request->fill('k', $request->row('k'));
            },
            // Long enough to ask a truth tier again that was away.
            'writes, deletes, lives on' => static function (object $request): void {
                $request->change('k');
                $request->delete('k');
                $request->wait(2100);
                $request->get('k') ?? $request->fill('k', $request->row('k'));
            },
            'fills, writes, deletes, lives on' => static function (object $request): void {
                $request->get('k') ?? $request->fill('k', $request->row('k'));
                $request->change('k');
                $request->delete('k');
                $request->wait(2100);
            },
            'lives on, sets' => static function (object $request): void {
                $value = $request->get('k');
                $request->wait(1100);
                // Learns what changed, but what the application holds may be from before.
                $request->get('other');
                $value ??= $request->row('k');
                $request->change('k');
                $request->set('k', $value | self::bit());
            },
            'lives on, fills' => static function (object $request): void {
                $value = $request->get('k') ?? $request->row('k');
                $request->wait(1100);
                $request->get('other');
                $request->fill('k', $value);
            },
            'refreshes, sets' => static function (object $request): void {
                $request->get('k') ?? $request->fill('k', $request->row('k'));
                $request->cache->refresh();
                $value = $request->get('k') ?? $request->row('k');
                $request->change('k');
                $request->set('k', $value | self::bit());
            },
        ];
    }

    /** @return array<string, \Closure(object): void> */
    public static function transactions(): array
    {
        $sets = static fn(object $request): \Closure => static function () use ($request): void {
            $request->change('k');
            $request->tell($request->cache->set('k', $request->row('k')));
        };

        return [
            'in a transaction: sets' => static fn(object $request) => $request->transaction($sets($request), ['k']),
            'in a transaction: deletes' => static fn(object $request) => $request->transaction(static function () use ($request): void {
                // The application is free in the order of the two.
                $request->tell($request->cache->delete('k'));
                $request->change('k');
            }, ['k']),
            'in a transaction: flushes' => static fn(object $request) => $request->transaction(static function () use ($request): void {
                $request->change('k');
                $request->tell($request->cache->flush());
            }, ['k']),
            'in a transaction: invalidates' => static fn(object $request) => $request->transaction(static function () use ($request): void {
                $request->change('k');
                $request->tell($request->cache->invalidateTags('t'));
            }, ['k']),
            'in a transaction: intends' => static fn(object $request) => $request->transaction(static function () use ($request): void {
                $request->cache->intend('k');
                $request->change('k');
            }, ['k']),
            'in a transaction: reads, modifies, writes' => static fn(object $request) => $request->transaction(static function () use ($request): void {
                $value = $request->get('k') ?? $request->row('k');
                $request->change('k');
                $request->tell($request->cache->set('k', $value | $request->row('k')));
            }, ['k']),
            'in a transaction: sets, which is rolled back' => static fn(object $request) => $request->rolledBack($sets($request)),
            'in a transaction: writes and fills, which is rolled back' => static fn(object $request) => $request->rolledBack(static function () use ($request): void {
                $request->change('k');
                $request->cache->fill('k', $request->row('k'));
            }),
            'in a transaction: reads and fills' => static fn(object $request) => $request->transaction(static function () use ($request): void {
                $request->get('k') ?? $request->cache->fill('k', $request->row('k'));
            }, []),
            'reads' => static fn(object $request) => $request->get('k'),
            // The transaction shows it the rows of its beginning, for as long as it goes on.
            'in a transaction: reads; then sets' => static function (object $request): void {
                $value = 0;
                $request->transaction(static function () use ($request, &$value): void {
                    $value = $request->get('k') ?? $request->row('k');
                }, []);
                $request->change('k');
                $request->set('k', $value | self::bit());
            },
        ];
    }
}
