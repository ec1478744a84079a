--TEST--
Code of an object that lets go of the segment, fills it and opens it anew while it is read
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: release() that lets go of a value that is being read (what was read is what was stored over it).
$segment = segment(1 << 20);
final class Releaser
{
    public static ?Larder\Segment $segment = null;
    public string $text = '';

    public function __unserialize(array $data): void
    {
        $this->text = $data['text'];
        self::$segment->release();
        self::$segment->delete('key');
        // Over all of it, more than once.
        for ($i = 0; $i < 400; $i++) {
            self::$segment->set("over $i", str_repeat('#', 5000 + $i));
        }
        self::$segment->release();
    }

    public function __serialize(): array
    {
        return ['text' => $this->text];
    }
}
Releaser::$segment = $segment;
$one = new Releaser();
$one->text = 'one';
$two = new Releaser();
$two->text = 'two';
$value = [$one, ['shared' => array_fill(0, 200, 'the same')], $two, 'text' => str_repeat('t', 3000)];
foreach (['a list' => $value, 'an object' => $two] as $what => $value) {
    same("$what, set", true, $segment->set('key', $value));
    $segment->release();
    $got = $segment->get('key');
    same($what, $value, $got);
    $segment->flush();
    $segment->set('key', $value);
    $got = $segment->getMultiple(['key']);
    same("$what, as one of several", ['key' => $value], $got);
    unset($got);
    // Afterwards it lets go as ever.
    $segment->release();
    $segment->flush();
    same("$what, readers", 0, $segment->stats()['readers']);
}

// Also after it was left by an exception.
final class Refuser
{
    public function __wakeup(): void
    {
        throw new RuntimeException('no');
    }
}
$segment->set('key', new Refuser());
$segment->set('other', [1, 2]);
same('thrown', 'RuntimeException: no', thrown(static fn() => $segment->get('key')));
same('thrown', 'RuntimeException: no', thrown(static fn() => $segment->getMultiple(['other', 'key'])));
$segment->release();
same('readers', 0, $segment->stats()['readers']);
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
