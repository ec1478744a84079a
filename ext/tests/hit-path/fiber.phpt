--TEST--
get() in a fiber is the library's; in the main program, before and after, it is the one here
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/library.inc';

$segment = segment();
$segment->set('p:k', [15, ['value']]);
$library = new Library($segment);
$get = static fn(): array => [$library->get('k'), Fiber::suspend(), $library->get('k', 'fallback')];

// The first get of the class is one in a fiber.
$first = new Fiber(static fn(): mixed => $library->get('k'));
$first->start();
var_dump($first->getReturn(), json_encode($library->called()), $library->counted());

var_dump($library->get('k')[0]);
$fiber = new Fiber($get);
$fiber->start();
var_dump($library->get('k')[0]);
$outer = new Fiber(static function () use ($fiber, $library): void {
    $fiber->resume();
    $library->get('after an inner one');
});
$outer->start();
var_dump(json_encode($fiber->getReturn()), json_encode($library->called()), $library->get('k')[0], $library->counted());

// One that is destroyed, and one that throws.
$fiber = new Fiber($get);
$fiber->start();
unset($fiber);
gc_collect_cycles();
try {
    (new Fiber(static fn() => throw new DomainException()))->start();
} catch (DomainException) {
}
$library->called();
var_dump($library->get('k')[0], $library->called());
?>
--EXPECT--
NULL
string(25) "[["in a fiber","k",null]]"
array(2) {
  [0]=>
  int(0)
  [1]=>
  int(0)
}
string(5) "value"
string(5) "value"
string(22) "[null,null,"fallback"]"
string(96) "[["in a fiber","k",null],["in a fiber","k","fallback"],["in a fiber","after an inner one",null]]"
string(5) "value"
array(2) {
  [0]=>
  int(3)
  [1]=>
  int(1)
}
string(5) "value"
array(0) {
}
