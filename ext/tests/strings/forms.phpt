--TEST--
Strings: their hash, what they say of UTF-8, and changing them
--EXTENSIONS--
mbstring
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: no hash (dies when used as a key); IS_STR_VALID_UTF8 always set (preg_match('/./u') then matches "\xff");
// is_utf8() that looks at half of the last eight bytes or of a block, not at a block of ASCII after one that is none,
// or not at what ends within a character; a long string whose first reader finds it valid whatever it is.
$segment = segment(256 << 20);
$texts = ['', 'a', 'ab', 'abcdefg', 'abcdefgh', 'abcdefghi', 'ä', 'aä', '日本', '𝄞', "\u{7ff}\u{800}\u{ffff}\u{10000}\u{10ffff}"];
$bad = ["\xff", "\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9d\x84", "\xc3a", "\xe2\x82a", "\xc3\xc3"];
foreach ([...$texts, ...$bad] as $i => $text) {
    foreach ([...range(0, 17), 31, 32, 33, ...range(60, 65), 127, 253, 256, ...range(1021, 1024), 5000] as $before) {
        foreach ([0, 1, 8, 125] as $after) {
            $whole = str_repeat('x', $before) . $text . str_repeat('y', $after);
            $own = substr("|$whole", 1);
            $segment->set('s', $whole);
            $segment->set('a', [$whole => $whole]);
            foreach ([$segment->get('s'), $segment->get('s'), $segment->get('a')[$own], array_key_first($segment->get('a'))] as $got) {
                $got = (string) $got;
                same("$i: value", $own, $got);
                same("$i, $before, $after: preg", preg_match('/^.*$/us', $own), preg_match('/^.*$/us', $got));
                same("$i, $before, $after: mb", mb_check_encoding($own, 'UTF-8'), mb_check_encoding($got, 'UTF-8'));
                same("$i, $before, $after: length", mb_strlen($own, 'UTF-8'), mb_strlen($got, 'UTF-8'));
                $array = [$own => 'by its own'];
                same("$i: as a key", 'by its own', $array[$got]);
                $array = [$got => 'by the shared'];
                same("$i: as a key", 'by the shared', $array[$own]);
            }
        }
    }
}
same('a key found in a shared array', 1, (static function () use ($segment) { $segment->set('h', array_fill_keys(array_map(static fn ($n) => "name $n", range(1, 999)), 1)); return $segment->get('h')['name ' . (string) 500]; })());

$segment->set('t', 'the text');
$changes = [
    static function (string $s) { $s .= '!'; }, static function (string $s) { $s[0] = 'T'; }, static function (string $s) { @$s++; },
    static function (string &$s) { $s = strtoupper($s); $s[3] = "\xff"; }, static function (string $s) { $s[20] = 'x'; }, static function (string $s) { unset($s); },
    static function (string $s) { settype($s, 'array'); }, static function (string $s) { [$a] = [&$s]; $a .= 'b'; $s .= 'c'; }, static function (string $s) { sscanf($s, '%s', $s); },
    static function (string $s) { $t = $s . $s; $s = "$s$t"; $s ^= $t; }, static function (string $s) { $s = ~$s; }, static function (string $s) { str_replace('t', 'x', $s, $n); ucfirst($s); strtolower($s); strtr($s, 'te', 'xy'); trim($s, 't'); substr($s, 0); },
];
foreach ($changes as $change) {
    $text = $segment->get('t');
    try {
        $change($text);
    } catch (Error) {
        // Of a string that is no number.
    }
    same('text', 'the text', $segment->get('t'));
}
// Else some were copies, of which the engine finds all of this out by itself.
same('mode', 'zero-copy', $segment->stats()['mode']);
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
