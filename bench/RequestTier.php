<?php

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Cache;

/** A get of what this request has already read, against the least that PHP can do: an array lookup in a method. */
final readonly class RequestTier
{
    public function __construct(private Harness $harness) {}

    public function run(): string
    {
        $table = '';
        foreach (['short value' => 'a short string', '50x50 array' => Values::table()] as $name => $value) {
            $table .= $this->compare('Request tier, get: ' . $name, $value);
        }

        return $table;
    }

    private function compare(string $title, mixed $value): string
    {
        $cache = Cache::open('memory://');
        $cache->set('key', $value);
        $lookup = new ArrayLookup(['key' => $value]);

        return $this->harness->compare(
            $title,
            // Ten calls a turn: the loop's own time would make both sides look more alike than they are.
            new Side('array lookup in a method', static function (int $times) use ($lookup): void {
                for ($i = 0; $i < $times; $i += 10) {
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                    $got = $lookup->get('key');
                }
            }, null, static fn(): bool => $lookup->get('key') === $value, 500_000),
            new Side('Cache::get', static function (int $times) use ($cache): void {
                for ($i = 0; $i < $times; $i += 10) {
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                    $got = $cache->get('key');
                }
            }, null, static fn(): bool => $cache->get('key') === $value, 500_000),
        )->table([2 => 1.5]);
    }
}
