--TEST--
A string that names a class is stored as any other: its refcount is none in its process
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: the source's flags copied (IS_STR_CLASS_NAME_MAP_PTR: the second name gives the first's class).
$segment = segment();
final class Named
{
    public const NAME = self::class;
    public ?Named $other = null;
    public static function hello(?Named $named = null): string
    {
        return 'hello';
    }
}
final class Second
{
    public ?Second $other = null;
}
$segment->set('name', Named::class);
$segment->set('second', Second::class);
$segment->set('names', [Named::class => Named::class, 'c' => Named::NAME, 'f' => __FUNCTION__, 'x' => (new ReflectionClass('Named'))->getName(), 'o' => get_class(new Named()), 'p' => (new ReflectionProperty('Named', 'other'))->getType()->getName()]);
for ($i = 0; $i < 5; $i++) {
    $name = $segment->get('name');
    $object = new $name();
    same('new', true, $object instanceof $name && is_a($object, $name) && $object instanceof Named);
    $second = $segment->get('second');
    same('each its own', ['Named', 'Second'], [get_class(new $name()), get_class(new $second())]);
    same('static call', 'hello', $name::hello($object));
    same('callable', 'hello', call_user_func([$name, 'hello']));
    same('callable as one string', 'hello', call_user_func("$name::hello"));
    same('constant', 'Named', constant($name . '::NAME'));
    same('names', ['Named' => 'Named', 'c' => 'Named', 'f' => '', 'x' => 'Named', 'o' => 'Named', 'p' => 'Named'], $segment->get('names'));
}
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
