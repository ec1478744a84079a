--TEST--
get() of the library's cache where code of its class has unset a property, before the call or in the middle of it
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/library.inc';

/** What a class that is read out of the near tier does meanwhile. */
final class Waking
{
    public static ?Closure $work = null;

    public function __unserialize(array $data): void
    {
        self::$work && (self::$work)();
    }

    public function __serialize(): array
    {
        return [];
    }
}

final class Dying
{
    public function __construct(private Closure $work) {}

    public function __destruct()
    {
        ($this->work)();
    }
}

$near = [];
function apcu_fetch(string $key): mixed
{
    global $near;
    Waking::$work && (Waking::$work)();

    return $near[$key] ?? false;
}

/** Fills the memory that was freed, so that whoever follows an old pointer finds something else. */
function scribble(): void
{
    $all = [];
    for ($length = 8; $length < 500; $length += 8) {
        for ($i = 0; $i < 4; $i++) {
            $all[] = str_repeat("\x7f", $length);
        }
    }
}

$uptime = intdiv(hrtime(true), 1_000_000);
$now = $uptime + 5_000;
$segment = segment();
$segment->set('p:near', [15, ['near']]);
$segment->set('p:timed', [15, null, ['timed'], $now - 7, $now + 90_000, 0, 0, [], false]);
$segment->set('p:object', [15, [new Waking()]]);
$near = [
    'p:near' => 's' . pack('J', 15) . 'near', 'p:timed' => 'e' . pack('J', 15) . 'w' . pack('J2', $now - 7, $now + 90_000) . str_repeat("\0", 19) . 'timed',
    'p:long' => [15, str_repeat('long', 100)],
];
$properties = Library::path();
same('all of them', 16, count($properties));

$answers = $refused = 0;
foreach ([$segment, null] as $nearest) {
    foreach ($properties as $name) {
        foreach (['kept', 'near', 'timed', 'object', 'long', 'none'] as $key) {
            foreach (['before', 'meanwhile'] as $when) {
                $cache = new Library($nearest, implode(':', ['p', '']));
                [$cache->clock, $cache->known] = [5_000, $uptime + 600_000];
                $cache->kept['kept'] = 'kept';
                $cache->changed['other'] = 15;
                $unset = static function () use ($cache, $name): void { $cache->without($name); scribble(); };
                Waking::$work = $when === 'before' ? null : $unset;
                $when === 'before' ? $unset() : $cache->renewal = 0;
                $cache->work = $when === 'before' ? null : static function () use ($unset, $cache): void { $cache->work = null; $unset(); };
                try {
                    $answer = $cache->get($key, 'default');
                    in_array($answer, ['default', 'kept', 'near', ['near'], 'timed', ['timed'], str_repeat('long', 100)], true) || $answer == [new Waking()] || printf("%s of %s: %s\n", $key, $name, var_export($answer, true));
                    $answers++;
                } catch (Error $error) {
                    str_contains($error->getMessage(), 'before initialization') || str_contains($error->getMessage(), 'not constructed') || print($error->getMessage() . "\n");
                    $refused++;
                }
            }
        }
    }
}
same('each of them', 2 * 16 * 6 * 2, $answers + $refused);

// A copy that came meanwhile is not destroyed in the middle.
$cache = new Library($segment);
Waking::$work = static function () use ($cache): void {
    Waking::$work = null;
    $cache->kept['object'] = new Dying(static function () use ($cache): void {
        foreach (range(0, 1000) as $i) {
            $cache->kept["more$i"] = $i;
        }
        $cache->without('ends');
        scribble();
    });
};
$cache->get('object');
unset($cache->kept['object']);
same('still there', 1000, $cache->kept['more1000'] ?? null);

// A copy to which somebody else has a reference is a value like others.
$cache = new Library($segment);
$mine = ['mine'];
$cache->kept['r'] = &$mine;
$got = $cache->get('r');
$got[] = 'not mine';
same('by value', ['mine'], $cache->get('r'));
$mine = null;
same('null is none', 'd', $cache->get('r', 'd'));

// Numbers at their ends.
foreach ([PHP_INT_MIN, PHP_INT_MAX, 0] as $end) {
    foreach ($properties as $name) {
        $cache = new Library($segment);
        [$cache->clock, $cache->known] = [5_000, $uptime + 600_000];
        if ($cache->become($name, $end)) {
            $cache->get('near');
            $cache->get('timed');
            $cache->get('none');
        }
    }
}
echo "done\n";
--EXPECT--
done
