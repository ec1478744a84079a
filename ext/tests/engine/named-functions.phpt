--TEST--
What the engine does with shared arrays in hot code: loops, keys, calls, with JIT or without
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// ext/test runs it without OPcache, with it, and with JIT (LARDER_LONG=1). Seen to fail: the build of LARDER_BROKEN_REFCOUNT.
$segment = segment();
$original = ['a' => 1, 'b' => ['c' => 2, 'd' => [3, 4]], 'list' => range(0, 99), 'f' => 1.5, 's' => 'text'];
$segment->set('k', $original);
function add(array $v, int $i): array
{
    $v['list'][$i] += $i;
    $v['a'] += 1;
    $v['b']['c']++;
    $v['f'] *= 2.0;
    $v['s'] .= 'x';
    $v['s'][0] = 'T';
    $v['list'][] = $i;
    unset($v['list'][$i % 50], $v['b']['d'][0]);
    $v["new $i"] = $v['list'];

    return $v;
}
function sum(array $v): int
{
    $sum = 0;
    foreach ($v['list'] as $key => $value) {
        $sum += $value + $key;
    }
    for ($i = 0, $n = count($v['list']); $i < $n; $i++) {
        $sum += $v['list'][$i];
    }

    return $sum + $v['a'] + $v['b']['d'][1];
}
function by_reference(array &$v): void
{
    foreach ($v['list'] as &$value) {
        $value *= 2;
    }
    $r = &$v['b']['d'];
    $r[1] = 'changed';
    $v['a']++;
}
function local(Larder\Segment $segment, int $i): int
{
    $v = $segment->get('k');
    $w = $v;
    $w['list'][$i % 100] = 0;
    $x = $v['list'];
    $x[0]++;
    [$p, $q] = $v['b']['d'];
    ['a' => $a] = $v;
    $y = [...$v['list'], ...$w['list']];
    $z = array_map(static fn ($one) => $one + $i, $v['list']);
    usort($z, static fn (int $a, int $b) => $b <=> $a);
    $v['list'] = $z;
    static $kept = [];
    $kept = $i % 3 ? $v : $kept;
    $kept['a'] = $i;

    return count($y) + $p + $q + $a + $z[0];
}
for ($i = 0; $i < 3000; $i++) {
    $v = $segment->get('k');
    $n = $i % 100;
    $added = add($v, $n);
    if ($added['a'] !== 2 || $added['list'][99] !== ($n === 99 ? 198 : 99) || count($added["new $n"]) !== 100 || $added['s'] !== 'Textx') {
        echo "$i: add\n";
        break;
    }
    if (sum($v) !== 3 * 4950 + 5) {
        echo "$i: sum\n";
        break;
    }
    $w = $v;
    by_reference($w);
    if ($w['list'][99] !== 198 || $w['b']['d'][1] !== 'changed') {
        echo "$i: by reference\n";
        break;
    }
    if (local($segment, $i) !== 200 + 3 + 4 + 1 + 99 + $i) {
        echo "$i: local\n";
        break;
    }
    if ($v !== $original || $segment->get('k') !== $original) {
        echo "$i: changed\n";
        break;
    }
}
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
