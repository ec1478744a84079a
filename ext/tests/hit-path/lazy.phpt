--TEST--
get() of a lazy object of the library's cache: proxies and ghosts, reset and cloned ones
--SKIPIF--
<?php
if (PHP_VERSION_ID < 80400) {
    die('skip PHP 8.4 is the first to have lazy objects');
}
?>
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/library.inc';

final class Child extends Library {}

$segment = segment();
$segment->set('p:k', [15, ['value']]);
$class = new ReflectionClass(Library::class);
$made = 0;
$make = static function () use ($segment, &$made): Library {
    $made++;

    return new Library($segment);
};
$makeIn = static function (Library $ghost) use ($segment, &$made): void {
    $made++;
    $ghost->__construct($segment);
};

$proxy = $class->newLazyProxy($make);
same('nothing is made', 0, $made);
same('out of the segment', [['value'], 1], [$proxy->get('k'), $made]);
same('out of the copies', [['value'], 1], [$proxy->get('k'), $made]);
same('asks the real one', ['d', [['none', true, null]]], [$proxy->get('none', 'd'), $proxy->called()]);
same('counted', [3, 1], $proxy->counted());
same('kept by the real one', ['k' => ['value']], $class->initializeLazyObject($proxy)->kept);

$ghost = $class->newLazyGhost($makeIn);
same('a ghost', [['value'], 2], [$ghost->get('k'), $made]);
same('is itself', [['value'], ['k' => ['value']], 2], [$ghost->get('k'), $ghost->kept, $made]);

$class->resetAsLazyGhost($ghost, $makeIn);
same('reset', [['value'], 3], [$ghost->get('k'), $made]);
$class->resetAsLazyProxy($ghost, $make);
same('reset to a proxy', [['value'], 4], [$ghost->get('k'), $made]);
$clone = clone $ghost;
same('cloned', [['value'], ['value']], [$clone->get('k'), $ghost->get('k')]);
$unmade = $class->newLazyProxy($make);
$clone = clone $unmade;
same('cloned before it was made', ['value'], $clone->get('k'));

// The proxy's class is another than that of what it stands for.
$child = (new ReflectionClass(Child::class))->newLazyProxy($make);
for ($i = 0; $i < 3; $i++) {
    same('a parent', [['value'], ['value']], [$child->get('k'), $proxy->get('k')]);
}

foreach ([static fn() => throw new DomainException('not made'), static fn() => new stdClass()] as $failing) {
    $proxy = $class->newLazyProxy($failing);
    foreach ([1, 2] as $time) {
        try {
            $proxy->get('k');
            echo "no exception\n";
        } catch (DomainException | TypeError) {
        }
    }
}
$empty = $class->newLazyGhost(static function (): void {});
try {
    $empty->get('k');
} catch (Error $error) {
    echo $error->getMessage(), "\n";
}

// Reset in the middle of a get, so that the one that is at work is nobody's any more.
foreach (['check', 'lookup'] as $method) {
    $real = null;
    $proxy = $class->newLazyProxy(static function () use (&$real, $make): Library { return $real = $make(); });
    $proxy->get('k');
    $method === 'check' && $real->renewal = 0;
    $real->work = static function () use (&$real, $class, $proxy, $make): void { $real = null; $class->resetAsLazyProxy($proxy, $make); };
    same("reset within $method()", [$method === 'check' ? ['value'] : 'd', ['value']], [$proxy->get($method === 'check' ? 'k' : 'none', 'd'), $proxy->get('k')]);
}
echo "done\n";
--EXPECT--
The cache was not constructed
done
