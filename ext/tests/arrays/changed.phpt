--TEST--
Whatever the language changes is a copy
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: each of these dies with the build of LARDER_BROKEN_REFCOUNT.
$segment = segment();
$original = ['b' => [3, 1, 2], 'a' => ['x' => 'y', 'z' => ['deep']], 'c' => 'text', 7 => 1.5];
$segment->set('k', $original);
$list = range(1, 20);
$segment->set('list', $list);
$segment->set('table', [['n' => 3, 's' => 'c'], ['n' => 1, 's' => 'a'], ['n' => 2, 's' => 'b']]);

function change_by_reference(array &$array): void
{
    $array['new'] = 1;
    $array['b'][] = 4;
}
function with_default(array $array = []): array
{
    $array['x'] = 1;

    return $array;
}
function keep_static(?array $value = null): array
{
    static $kept = [];
    $kept = $value ?? $kept;
    $kept[] = 'more';

    return $kept;
}
function generate(array $array): Generator
{
    foreach ($array as $key => &$value) {
        $value = [$value];
        yield $key => $value;
    }
    $array[] = 'end';
    yield from $array;
}
final class Holder
{
    public const NAMES = ['a', 'b'];
    public array $property = [];
    public static array $static = [];

    public function __construct(public readonly array $fixed) {}
}
enum Suit: string
{
    case Hearts = 'H';
    const VALUES = ['x' => 1];
}

$ways = [
    'append' => static function (array $v) { $v[] = 1; },
    'deep' => static function (array $v) { $v['a']['z'][] = 1; $v['a']['new']['newer'] = 1; },
    'unset' => static function (array $v) { unset($v['b'][0], $v['a']['x'], $v[7]); },
    'element in place' => static function (array $v) { $v[7]++; $v['c'] .= ' more'; $v['c'][0] = 'T'; $v['b'][1] *= 5; $v['b'][9] ??= 1; },
    'by reference' => static function (array $v) { $r = &$v['a']['z']; $r[] = 1; $s = &$v['b']; sort($s); change_by_reference($v); },
    'foreach by reference' => static function (array $v) { foreach ($v as &$x) { if (is_array($x)) { foreach ($x as &$y) { $y = 1; } } else { $x = 2; } } },
    'get within foreach by reference' => static function () use ($segment) { foreach ($segment->get('k') as &$x) { $x = null; $z = $segment->get('k'); $z['b'] = 1; } },
    'sorting' => static function (array $v) { natsort($v['b']); sort($v['b']); rsort($v['b']); ksort($v); krsort($v); asort($v['a']); uasort($v, static fn ($a, $b) => $a <=> $b); usort($v, static fn () => 0); uksort($v, static fn ($a, $b) => (string) $a <=> (string) $b); shuffle($v); },
    'walk' => static function (array $v) { array_walk($v, static function (&$x) { $x = 1; }); },
    'walk deep' => static function (array $v) { array_walk_recursive($v, static function (&$x) { $x = 'w'; }); },
    'push, pop, shift, splice' => static function (array $v) { array_push($v, 1); array_pop($v); array_shift($v); array_unshift($v, 0); array_splice($v, 0, 2, ['x']); },
    'multisort' => static function (array $v) use ($segment) { $l = $segment->get('list'); $m = $segment->get('list'); array_multisort($l, SORT_DESC, $m); same('multisort', range(20, 1), $l); $w = $v['b']; array_multisort($w); },
    'multisort of columns' => static function () use ($segment) { $t = $segment->get('table'); array_multisort(array_column($t, 'n'), $t); same('multisort of columns', ['a', 'b', 'c'], array_column($t, 's')); },
    'position' => static function (array $v) { next($v); end($v); prev($v); key($v); each_of($v); reset($v); },
    'list by reference' => static function (array $v) { ['a' => &$a, 'b' => [, &$second]] = $v; $a['x'] = 1; $second = 9; [$p, ['x' => $q]] = [&$v['b'], &$v['a']]; },
    'destructuring' => static function (array $v) { ['a' => ['z' => $z], 'b' => [$one, , $two]] = $v; $z[] = $one + $two; },
    'static' => static function (array $v) { keep_static($v); keep_static(); same('static', 6, count(keep_static())  - 1); },
    'global' => static function (array $v) { $GLOBALS['held'] = $v; $GLOBALS['held']['a']['x'] = 1; global $held; $held[] = 2; },
    'generator' => static function (array $v) { foreach (generate($v) as $x) { $x = 1; } foreach (generate($v) as $x) { break; } },
    'closure that captures' => static function (array $v) { $f = function () use ($v) { $v[] = 1; return $v; }; $f(); $g = function () use (&$v) { $v['a'] = 1; }; $g(); $h = fn () => $v['b'][] = 1; try { $h(); } catch (Error) {} },
    'default parameter' => static function (array $v) { with_default($v); with_default(array: $v); call_user_func_array('with_default', [$v]); with_default(...[$v]); },
    'constant' => static function (array $v) { defined('STORED') || define('STORED', $v); $c = STORED; $c['a']['z'] = 1; same('constant', $v, STORED); },
    'properties' => static function (array $v) { $h = new Holder($v); $h->property = $v; $h->property['a']['x'] = 1; Holder::$static = $v; Holder::$static['b'][] = 1; $c = clone $h; $c->property[] = 1; try { $h->fixed['a'] = 1; } catch (Error $e) { same('readonly', 'modify readonly property Holder::$fixed', strstr($e->getMessage(), 'modify')); } },
    'to an object and back' => static function (array $v) { $o = (object) $v; $o->b[] = 1; $o->c = 1; unset($o->a); $a = (array) $o; $a[] = 1; $p = (object) $v['a']; foreach ($p as &$x) { $x = 1; } },
    'ArrayObject' => static function (array $v) { $o = new ArrayObject($v); $o['a']['x'] = 1; $o[] = 2; unset($o['b']); $o->ksort(); foreach ($o as $k => &$x) {} $i = new ArrayIterator($v); $i['c'] = 1; @$i->asort(); $r = new RecursiveArrayIterator($v); foreach (new RecursiveIteratorIterator($r) as $x) { $x = 1; } },
    'spread and merge' => static function (array $v) { $x = [...$v, ...$v['b']]; $x[] = 1; $y = $v + ['q' => 1]; $y['b'][] = 1; $z = array_merge($v, $v); $z['a']['x'] = 1; $w = array_replace_recursive($v, ['a' => ['z' => [1]]]); $u = array_merge_recursive($v, $v); $v += ['new' => 1]; },
    'serializers' => static function (array $v) { same('serialize', $v, unserialize(serialize($v))); same('json', json_encode($v), json_encode(json_decode(json_encode($v), true))); same('var_export', $v, eval('return ' . var_export($v, true) . ';')); if (function_exists('igbinary_serialize')) { same('igbinary', $v, igbinary_unserialize(igbinary_serialize($v))); } ob_start(); var_dump($v); debug_zval_refcount($v); print_r($v); ob_end_clean(); http_build_query($v); },
    'string functions on what it holds' => static function (array $v) { $s = $v['c']; $s[0] = 'X'; $s .= 'y'; @$s++; parse_str('a[b]=1', $v); },
    'extract' => static function (array $v) { extract($v, EXTR_REFS | EXTR_PREFIX_ALL, 'p'); $p_a['x'] = 1; $p_7 = 2; },
    'preg with shared arrays' => static function (array $v) { preg_match('/(t)(e)/', $v['c'], $v); preg_replace_callback_array(['/e/' => static fn () => 'E'], 'text', -1, $v['b']); },
    'swap' => static function (array $v) { [$v['a'], $v['b']] = [$v['b'], $v['a']]; },
    'garbage collection' => static function (array $v) { $v['self'] = &$v; gc_collect_cycles(); unset($v); gc_collect_cycles(); },
    'exception with it' => static function (array $v) { try { throw new class ($v) extends Exception { public function __construct(public array $v) { parent::__construct('x'); } }; } catch (Exception $e) { $e->v[] = 1; $e->getTrace(); } },
    'fiber' => static function (array $v) { $f = new Fiber(static function (array $v) { $v[] = Fiber::suspend($v); return $v; }); $w = $f->start($v); $w[] = 1; $f->resume($v); $x = $f->getReturn(); $x[] = 1; },
    'weak map and SplObjectStorage' => static function (array $v) { $o = new stdClass(); $m = new WeakMap(); $m[$o] = $v; $s = new SplObjectStorage(); $s[$o] = $v; $d = $s[$o]; $d[] = 1; $f = SplFixedArray::fromArray($v['b']); $f[0] = 1; },
    'match and enum' => static function (array $v) { match ($v) { Suit::VALUES => 1, default => $v[] = 2 }; },
];
function each_of(array &$v): void { while (key($v) !== null) { next($v); } }
function debug_zval_refcount(array $v): void { debug_zval_refcount_by_name($v); }
function debug_zval_refcount_by_name(array $v): void { debug_zval_dump($v); }

for ($round = 0; $round < 3; $round++) {
    foreach ($ways as $name => $way) {
        try {
            $way($segment->get('k'));
        } catch (Throwable $error) {
            echo "$name: ", $error->getMessage(), "\n";
        }
        same($name, $original, $segment->get('k'));
        same("$name, list", $list, $segment->get('list'));
    }
}
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
