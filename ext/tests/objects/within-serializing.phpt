--TEST--
A segment that is used by code which PHP runs while it serializes or unserializes something else
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Inside Serializable's methods, and in an error handler, PHP's serializer takes what it is given for a part of the
// outermost value: numbers of references would count from there.
// Seen to fail: serialize() and unserialize() (persist.c, readout.c) that go on with the outermost's state.
error_reporting(E_ALL & ~E_DEPRECATED);
$segment = segment();
final class Old implements Serializable
{
    public static ?Larder\Segment $segment = null;
    public static array $seen = [];
    public static mixed $value = null;

    public function serialize(): string
    {
        self::$segment->set('inside', self::$value);

        return 'old';
    }

    public function unserialize(string $text): void
    {
        self::$seen[] = self::$segment->get('inside');
    }

    public function __serialize(): array
    {
        return [];
    }
}
final class Older implements Serializable
{
    public function serialize(): string
    {
        Old::$segment->set('inside', Old::$value);

        return 'older';
    }

    public function unserialize(string $text): void
    {
        Old::$seen[] = Old::$segment->get('inside');
    }
}
Old::$segment = $segment;
$shared = new ArrayObject([1, 2, 3]);
$plain = new stdClass();
$plain->x = 'x';
Old::$value = [$plain, $plain, 'k' => $shared, 'again' => $shared];
$outer = [$plain, $shared, new Older(), $plain, 'end'];
$text = serialize($outer);
same('stored inside', Old::$value, $segment->get('inside'));
$back = unserialize($text);
same('the outer one', [$plain, $shared], [$back[0], $back[1]]);
same('the outer one, the same object', true, $back[3] === $back[0]);
same('read inside', [Old::$value], Old::$seen);
same('read inside, the same object', true, Old::$seen[0][0] === Old::$seen[0][1]);
// And the segment's own: the outer one is a value of it.
Old::$seen = [];
$segment->set('outer', $outer);
same('stored inside a set', Old::$value, $segment->get('inside'));
$back = $segment->get('outer');
same('the outer one of the segment', [true, true], [$back[3] === $back[0], $back[1] == $shared]);
same('read inside a get', [Old::$value], Old::$seen);
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
