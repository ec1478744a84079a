--TEST--
Who calls the private constructor all the same gets no segment without a file
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php

declare(strict_types=1);

// Seen to fail: a constructor that says nothing; then get() dies of signal 11.
try {
    $segment = (new PDO('sqlite::memory:'))->query("select 'Larder\\Segment'")->fetch(PDO::FETCH_CLASS | PDO::FETCH_CLASSTYPE);
    var_dump($segment->get('x'));
} catch (Error $error) {
    echo $error->getMessage(), "\n";
}
try {
    (new ReflectionClass(Larder\Segment::class))->newInstanceWithoutConstructor()->get('x');
} catch (ReflectionException $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
A Larder\Segment is made by Larder\Segment::open()
Class Larder\Segment is an internal class marked as final that cannot be instantiated without invoking its constructor
