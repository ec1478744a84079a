--TEST--
Code of an object that changes the key under which it is read
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: getMultiple() that holds no copy of a key which is a reference (the result has another key).
$segment = segment();
final class Renamer
{
    public static mixed $key = null;
    public static array $more = [];

    public function __wakeup(): void
    {
        $length = strlen((string) self::$key);
        self::$key = null;
        // What was freed is another string now.
        for ($i = 0; $i < 50; $i++) {
            self::$more[] = str_repeat(chr(65 + $i % 26), $length);
        }
    }
}
foreach (['object' => new Renamer(), 'array with one' => ['before', new Renamer(), 'after']] as $what => $value) {
    for ($length = 4; $length < 400; $length = intdiv($length * 3, 2)) {
        $name = str_repeat('k', $length);
        $segment->set($name, $value);
        $segment->set('next', 'the next');
        // Made anew, so that nobody else has it.
        Renamer::$key = str_repeat('k', $length);
        $keys = [&Renamer::$key, 'next', &Renamer::$key];
        $got = $segment->getMultiple([&Renamer::$key, 'next']);
        same("$what, $length", [$name, 'next'], array_keys($got));
        unset($keys);
        Renamer::$more = [];
        Renamer::$key = str_repeat('k', $length);
        $argument = &Renamer::$key;
        same("$what, $length, get", true, is_object($segment->get($argument)) || is_array($segment->get($name)));
        unset($argument);
        Renamer::$more = [];
    }
}

// A number that becomes something else, and one key twice, whose first value is thrown away while others are read.
final class Thrower
{
    public static ?Larder\Segment $segment = null;
    public static int $times = 0;

    public function __destruct()
    {
        self::$times++;
        self::$segment?->set('12', 'set by a destructor');
        self::$segment?->getMultiple(['12', 12]);
    }
}
$segment->set('12', [new Thrower()]);
Thrower::$segment = $segment;
$twelve = 12;
$got = $segment->getMultiple([&$twelve, '12', 'next']);
same('a key twice', [12, 'next'], array_keys($got));
unset($got);
same('destructors', true, Thrower::$times > 1);
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
