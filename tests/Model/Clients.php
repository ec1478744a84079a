<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/** Some processes that use one engine at the same time, and what a near tier must find after them. */
final class Clients
{
    /** @param \Closure(): object $store a new store of the copy, as each process opens its own */
    public function __construct(private readonly Copy $copy, private readonly \Closure $store) {}

    /**
     * What a process does, by name; each gets an Inside\Client.
     *
     * @return array<string, \Closure(object): void>
     */
    public static function work(): array
    {
        return [
            'sets' => static fn(object $client) => $client->set('k', 'vset'),
            'appends' => static fn(object $client) => $client->append('k', 'vappended'),
            'appends what it has read' => static fn(object $client) => $client->appendFill('k', 'vread'),
            'appends another' => static fn(object $client) => $client->append('l', 'vappended'),
            'follows another' => static fn(object $client) => $client->follow('l'),
            'deletes' => static fn(object $client) => $client->delete('k'),
            'fills' => static fn(object $client) => $client->fill('k', 'vfill'),
            'fills guarded' => static fn(object $client) => $client->fillGuarded('k', 'vguarded', 'm'),
            'marks' => static fn(object $client) => $client->mark('m'),
            'counts' => static fn(object $client) => $client->count('k'),
            'follows' => static fn(object $client) => $client->follow('k'),
            'follows twice' => static function (object $client): void {
                $client->follow('k');
                $client->follow('k');
            },
            'looks, sets another' => static function (object $client): void {
                $client->follow('l');
                $client->set('l', 'vanother');
            },
            'fills what was set and forgotten' => static fn(object $client) => $client->fillForgotten('k', 'vfill'),
            // Not a process of the cache: SQLite rebuilds the index of its log.
            'recovers' => static fn() => Machine::step('recover'),
            'waits, follows twice' => static function (object $client): void {
                // That something has not been settled for long is seen here first, and its time counts from then.
                Machine::step('wait', 2000);
                $client->follow('other');
                Machine::step('wait', 6000);
                $client->follow('k');
                // Until it no longer waits for the writer that was given up.
                Machine::step('wait', 2000);
                $client->follow('k');
            },
        ];
    }

    /**
     * @param list<string> $names what each process does
     * @param bool         $warm  the near tier has a copy before
     * @param bool         $waits something has been appended before
     *
     * @return int states that were looked at
     *
     * @throws Violation
     */
    public function check(Engine $engine, array $names, int $kills = 0, bool $warm = true, bool $waits = false, int $most = 3_000_000): int
    {
        $programs = [];
        foreach ($names as $number => $name) {
            $programs[] = $this->program($number, self::work()[$name]);
        }
        $number = \count($programs);
        // At once, and when everybody knows who is dead.
        $closings = [
            $this->program($number, static function (object $client): void {
                $client->compare('k');
                $client->follow('k');
                $client->follow('l');
            }),
            $this->program($number + 1, static function (object $client): void {
                Machine::step('wait', 2000);
                $client->follow('other');
                Machine::step('wait', 6000);
                $client->compare('k');
                $client->compare('k');
            }),
        ];
        Explorer::alone($engine, $this->program($number + 2, static function (object $client) use ($warm, $waits): void {
            $client->set('k', 'v0');
            $client->mark('m');
            $warm ? $client->follow('k') : $client->follow('other');
            $waits && $client->append('k', 'vwaits');
        }), $number + 2);
        $engine->begin();
        $explorer = new Explorer($programs, $closings, $kills, $most);
        $explorer->explore($engine);

        return $explorer->states;
    }

    /** @param \Closure(object): void $work */
    private function program(int $number, \Closure $work): Program
    {
        return new Program("$number", function () use ($number, $work): void {
            $work($this->copy->make('Tests\Model\Inside\Client', ($this->store)(), \str_pad("$number", 12, 'a')));
        });
    }
}
