--TEST--
Arrays of every form: packed, hash, with holes, with every kind of key, next index (what must be tested, 14)
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: nNextFreeElement set to the number of elements; the links between keys that collide not copied;
// the empty array pointing to the process's own empty block.
$segment = segment(32 << 20);
$holes = range(0, 19);
unset($holes[3], $holes[7], $holes[18]);
$front = range(0, 19);
for ($i = 0; $i < 15; $i++) {
    unset($front[$i]);
}
$end = range(0, 19);
unset($end[19], $end[18]);
$emptied = [1, 2, 3];
unset($emptied[0], $emptied[1], $emptied[2]);
$popped = [1, 2, 3];
array_pop($popped);
$hash = array_flip(array_map(static fn ($i) => "key $i", range(0, 19)));
unset($hash['key 0'], $hash['key 9'], $hash['key 19']);
$refilled = $hash;
$refilled['key 9'] = 'again';
$all = ['a' => 1, 'b' => 2];
unset($all['a'], $all['b']);
$mixed = [5 => 'five', 'x' => 1, -3 => 'minus three', '' => 'nothing', "\0" => 'nul', "a\0b" => 'nul within', '12' => 'twelve', '012' => 'no twelve', ' 12' => 'nor this', PHP_INT_MIN => 'least'];
$last = [PHP_INT_MAX => 'last'];
$before_last = [PHP_INT_MAX - 1 => 'last but one'];
$minus = [-10 => 'a'];
$minus[] = 'b';
$grown = [];
for ($i = 0; $i < 1000; $i++) {
    $grown["k$i"] = $i;
    if ($i % 3) {
        unset($grown['k' . ($i - 1)]);
    }
}
$cast = (array) json_decode('{"1": "one", "x": {"2": "two"}}', true);
$collision = [];
for ($i = 0; $i < 64; $i++) {
    $collision[$i << 20] = $i;
}
$reversed = array_reverse(['a' => 1, 5 => 2, 'b' => 3], true);
$pointer = [1, 2, 3, 4];
next($pointer);
next($pointer);
foreach (get_defined_vars() as $name => $value) {
    if (is_array($value) && $name !== 'argv' && $name[0] !== '_') {
        there_and_back($segment, $name, $value);
    }
}
there_and_back($segment, 'empty', []);
there_and_back($segment, 'empty in empty', [[]]);
there_and_back($segment, 'many empty', array_fill(0, 100, []));
there_and_back($segment, 'empty under a key', ['a' => [], 'b' => ['c' => []]]);
there_and_back($segment, 'float keys', [(int) 1.7 => 'one', (int) -0.5 => 'zero']);
there_and_back($segment, 'boolean keys', [true => 'one', false => 'zero']);
there_and_back($segment, 'all scalars', [null, false, true, 0, -0.0, NAN, INF, '', 'x', "\0"]);
there_and_back($segment, 'large packed', range(1, 200000));
there_and_back($segment, 'large hash', array_combine(array_map(static fn ($i) => "key number $i", range(1, 20000)), range(1, 20000)));
there_and_back($segment, 'compact', compact('holes', 'mixed'));
there_and_back($segment, 'get_object_vars', get_object_vars((object) ['a' => 1, '5' => 2, 'c' => ['d']]));
there_and_back($segment, 'cast from an object', (array) new ArrayIterator(['a' => 1]));
final class Properties
{
    public int $a = 1;
    protected array $b = ['x'];
    private string $c = 'private';
    public $unset;
    public int $uninitialized;

    public function __construct()
    {
        unset($this->unset);
    }

    public function variables(): array
    {
        return get_object_vars($this);
    }
}
there_and_back($segment, 'properties', (array) new Properties());
there_and_back($segment, 'properties from within', (new Properties())->variables());
function variables(): array
{
    $a = 1;
    $b = ['two'];
    unset($a);
    ${$b[0]} = 'a variable by name';
    extract(['extracted' => 'x']);

    return get_defined_vars();
}
there_and_back($segment, 'get_defined_vars', variables());
$globals = $GLOBALS;
unset($globals['segment'], $globals['globals'], $globals['GLOBALS']);
there_and_back($segment, 'globals', array_filter($globals, static fn ($one) => !is_object($one)));

// Nothing in it points to what only this process has.
$code = 'echo json_encode([isset($segment->get("empty under a key")["a"]["x"]), count($segment->get("empty in empty")[0]), $segment->get("hash")["key 5"], isset($segment->get("all")["a"]), $segment->get("mixed")["a\0b"]]);';
same('in another process', '[false,0,5,false,"nul within"]', child($code)['output']);

// From a stored array the engine's own position is at the beginning.
$stored = $segment->get('pointer');
same('position', 1, current($stored));
// "Cannot add element": the same limit.
same('limit', [['last' => 1] && $last, 'Cannot add element to the array as the next element is already occupied'][1], substr(thrown(static function () use ($segment): void { $a = $segment->get('last'); $a[] = 1; }), 7));
echo "done\n";
--EXPECT--
done
