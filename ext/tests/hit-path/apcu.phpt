--TEST--
What get() of the library's cache answers out of APCu by itself, and what it asks the library
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/library.inc';

$stored = $asked = [];
$thrown = $work = null;

/** In the place of APCu's, which gives each caller a string of its own. */
function apcu_fetch(string $key): mixed
{
    global $stored, $asked, $thrown, $work;
    $asked[] = $key;
    $thrown && throw $thrown;
    $work && $work();
    $value = $stored[$key] ?? false;

    if (is_string($value) && $value !== '' && $key !== 'p:shared') {
        $value = substr($value, 0, -1) . substr($value, -1);
        // PHP notes the hash of a string that was looked for.
        isset($stored[$value]);
    }

    return $value;
}

function at(string $letter, int $position): string
{
    return $letter . pack('J', $position);
}

function timed(int $created, int $expiry, string $payload, string $others = ''): string
{
    return 'w' . pack('J2', $created, $expiry) . str_pad($others, 18, "\0") . $payload;
}

$cache = new Library(null);
foreach (['k', '123', '-7', '007'] as $i => $key) {
    foreach ([at('s', 15) . "value $i", at('e', 15) . 'v' . pack('J', 1) . "\0value $i", at('s', 20) . "value $i", at('s', 11) . "value $i"] as $raw) {
        $stored["p:$key"] = $raw;
        same("$key out of APCu", "value $i", $cache->get($key));
        same("$key out of the copies", "value $i", $cache->get($key));
        same('as it was', $raw, $stored["p:$key"]);
        same("$key is kept", ["value $i", []], [$cache->kept[$key], $cache->called()]);
        $cache->kept = [];
    }
}
same('asked once for each', 16, count($asked));
same('counted', [32, 16], $cache->counted());
$stored['p:empty'] = at('s', 15);
same('an empty string', ['', ''], [$cache->get('empty', 'd'), $cache->kept['empty']]);
$cache->get('k');
$mine = $cache->get('k');
$mine[0] = 'V';
same('not by reference', 'value 0', $cache->get('k'));
same('one may search for it', true, isset(array_flip([$cache->get('k')])['value 0'], ['value 0' => 1][$cache->kept['k']]));
$cache->called();

// A long one, which is read each time.
foreach (['long', '9'] as $key) {
    $stored["p:$key"] = [15, str_repeat('long', 1000)];
    same('a long string', [str_repeat('long', 1000), []], [$cache->get($key), $cache->called()]);
    same('is not kept, but noted', [false, true], [isset($cache->kept[$key]), $cache->long[$key]]);
    $mine = $cache->get($key);
    $mine[0] = 'L';
    same('as it was', str_repeat('long', 1000), $cache->get($key));
}
same('by key', ['long', 9], array_keys($cache->long));

// Judged by the library, which gets what was there.
$plain = at('e', 15) . 'v' . pack('J', 1) . "\0x";
$odd = [
    at('s', 10) . 'x', at('s', 21) . 'x', at('s', 0) . 'x', at('s', -1) . 'x', at('s', PHP_INT_MAX) . 'x', at('t', 15) . 'x', at('e', 15), '', 's', 'e',
    at('e', 10) . substr($plain, 9), at('e', 21) . substr($plain, 9), at('e', 15) . 'x' . substr($plain, 10), at('e', 15) . 'v' . pack('J', 1) . "\1x",
    substr($plain, 0, 18), substr($plain, 0, 12), substr(at('s', 15), 0, 8), [15], [], [15, 7], [15, null], [10, 'x'], [21, 'x'], ['15', 'x'], [15, 'x', 2], ['a' => 15, 'b' => 'x'], [1 => 'x'], [1 => 'x', 2 => 15], 7, true, 1.5, null,
];
foreach ($odd as $copy) {
    $stored['p:odd'] = $copy;
    same('an odd one', ['d', [['odd', true, $copy === null ? null : $copy]]], [$cache->get('odd', 'd'), $cache->called()]);
}
same('none', ['d', [['none', true, null]]], [$cache->get('none', 'd'), $cache->called()]);
// A string that somebody else holds is not cut.
$stored['p:shared'] = $copy = at('s', 15) . str_repeat('shared', 2);
same('shared', ['d', [['shared', true, $copy]], at('s', 15) . 'sharedshared'], [$cache->get('shared', 'd'), $cache->called(), $stored['p:shared']]);
same('nor noted', false, isset($cache->long['odd']));
same('none of them is kept', false, isset($cache->kept['odd']) || isset($cache->kept['none']));
$cache->changed['odd'] = 33;
foreach ([15 => null, 33 => 'own', 34 => null, 32 => null] as $at => $answer) {
    $stored['p:odd'] = at('s', $at) . 'own';
    same("own change, $at", $answer, $cache->get('odd'));
    unset($cache->kept['odd']);
}
$cache->changed['odd'] = 0x0f00;
$stored['p:odd'] = "s\0\0\0\0\0\0\x0f";
same('nothing is read behind its end', null, $cache->get('odd'));
$cache->called();

// One with an expiry, if the store's clock is known.
$cache->changed = [];
$uptime = intdiv(hrtime(true), 1_000_000);
[$cache->clock, $cache->known] = [5_000, $uptime + 600_000];
$now = $uptime + 5_000;
foreach (['t', '42'] as $key) {
    $stored["p:$key"] = at('e', 15) . timed($now - 7, $now + 90_000, "\0timed");
    same('one with an expiry', ['timed', []], [$cache->get($key), $cache->called()]);
    same('is kept', 'timed', $cache->kept[$key]);
    $left = $cache->times[$key] - hrtime(true);
    same('until it ends', [true, true], [$left <= 90_000_000_000, $left > 80_000_000_000]);
    same('the next to end', $cache->times[$key], $cache->end);
    unset($cache->kept[$key]);
}
same('by key', ['t', 42], array_keys($cache->times));
$others = [
    'expired' => timed($now - 7, $now - 1, "\0x"), 'from the future' => timed($now + 70_000, $now + 90_000, "\0x"), 'no expiry' => timed($now - 7, 0, "\0x"),
    'soft' => timed($now - 7, $now + 90_000, "\0x", "\0\0\0\0\0\0\0\1"), 'tagged' => timed($now - 7, $now + 90_000, "\0x", str_repeat("\0", 17) . "\1"),
    'no string' => timed($now - 7, $now + 90_000, "\1x"), 'no payload' => timed($now - 7, $now + 90_000, ''), 'before all times' => timed(-1, $now + 90_000, "\0x"),
];
foreach (range(0, 34) as $length) {
    $others["cut at $length"] = substr(timed($now - 7, $now + 90_000, "\0x"), 0, $length);
}
foreach ($others as $what => $body) {
    $stored['p:o'] = at('e', 15) . $body;
    same($what, [null, [['o', true, $stored['p:o']]]], [$cache->get('o'), $cache->called()]);
}
unset($cache->kept['t']);
$cache->known = $uptime;
same('nobody knows the time', [null, [['t', true, $stored['p:t']]]], [$cache->get('t'), $cache->called()]);
same('none of these ends', ['t', 42], array_keys($cache->times));

// Not asked at all.
$asked = [];
$cache->view = 1;
same('another view', [null, [['l', true, false]]], [$cache->get('l'), $cache->called()]);
$cache->view = 0;
$long = str_repeat('k', 600);
same('a long key', [null, [[$long, true, false]]], [$cache->get($long), $cache->called()]);
$without = new Library(null, '');
same('no near tier', [null, [['k', true, false]]], [$without->get('k'), $without->called()]);
same('not asked', [], $asked);

$thrown = new DomainException('thrown');
try {
    $cache->get('other', [str_repeat('d', 100)]);
    echo "no exception\n";
} catch (DomainException) {
    same('the library is not asked', [], $cache->called());
}
$thrown = null;

// What a signal handler does while APCu is asked counts.
$stored['p:k'] = at('s', 15) . 'value';
unset($cache->kept['k']);
$work = static function () use ($cache): void { $cache->changed['k'] = 33; };
same('changed meanwhile', [null, [['k', true, $stored['p:k']]]], [$cache->get('k'), $cache->called()]);
$cache->changed = [];
$work = static function () use ($cache): void { $cache->view = 1; };
same('another view meanwhile', [null, [['k', true, $stored['p:k']]]], [$cache->get('k'), $cache->called()]);
$work = null;

// Often enough that the library bounds its copies.
$cache = new Library(null);
$stored['p:k'] = at('s', 15) . 'value';
for ($i = 0; $i < 3000; $i++) {
    $cache->kept = [];
    $cache->get('k');
}
same('every 1024th', 1977, count($cache->called()));
same('counted', [3000, 1023], $cache->counted());
echo "done\n";
--EXPECT--
done
