--TEST--
Shared strings where PHP keeps what it is given, over several requests of one process (what must be tested, 3 and 13)
--EXTENSIONS--
mbstring
dom
intl
iconv
pdo
pdo_sqlite
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// In the debug build with LARDER_AFTER=none the values' addresses cannot be read once a request is over; between two
// requests all that was stored is overwritten. Seen to fail: LARDER_AFTER=early (see too-early.phpt); strings with
// IS_STR_PERMANENT (PCRE's cache keeps the pattern: dies when the server ends and frees them).
require __DIR__ . '/values.inc';

$settings = array_map(static fn (string $name) => "extension=$name", ['mbstring', 'dom', 'intl', 'pdo', 'pdo_sqlite', 'iconv']);
foreach (['none', null] as $after) {
    foreach (['0', '1'] as $allocator) {
        $what = "after: $after, allocator: $allocator";
        $segment = segment();
        $server = new Server(__DIR__ . '/requests.inc', array_filter(['LARDER_SEGMENT' => path(), 'LARDER_AFTER' => $after, 'USE_ZEND_ALLOC' => $allocator], static fn ($one) => $one !== null), $settings);
        $pids = [];
        for ($round = 0; $round < 8; $round++) {
            $values = values($round % 3);
            $segment->set('values', $values);
            $answer = json_decode($server->get('') ?? 'null', true);
            if (!is_array($answer)) {
                same("$what, round $round: answered", true, false);
                break;
            }
            $out = $answer['out'];
            $n = $round % 3;
            $pids[] = $answer['pid'];
            same("$what, $round: in place", ['zero-copy', null], [$answer['mode'], $answer['check']]);
            same("$what, $round: regex", ['142', 'X' === 'x' ? '' : '42'], [$out['regex'], $out['regex callback']]);
            same("$what, $round: split", explode(' ', $values['text']), $out['split']);
            same("$what, $round: class", ["Shared{$n}hellohellois", 'hello', "Shared$n", 'no'], [$out['class'], $out['reflection'], $out['alias'], $out['autoload']]);
            same("$what, $round: constant", $values['array'], $out['constant']);
            same("$what, $round: ini", [$values['text'], '15', 'Europe/Berlin', $values['include path'], '&amp;'], $out['ini']);
            same("$what, $round: zone, locale", ['Europe/Berlin0', 'C.UTF-8C.UTF-8', "value $n"], [$out['zone'], $out['locale'], $out['environment']]);
            same("$what, $round: included", [5, true, 5], [$out['include'], $out['include once'], $out['by include path']]);
            same("$what, $round: output", [$values['text'], $values['text'], ['c', 'b', 'a']], [$out['output'], $out['filter'], $out['sort']]);
            same("$what, $round: mb", [strlen($values['text']), strtoupper($values['text']), true], $out['mb']);
            same("$what, $round: others", ['1.234,5', [['x' => $values['text']]], $values['text']], [$out['number'], $out['pdo'], $out['iconv']]);
            // Whoever has kept a pointer finds something else behind it.
            $segment->flush();
            same("$what, $round: nobody holds anything", 0, $segment->stats()['retired_bytes']);
            for ($i = 0; $i < 200; $i++) {
                $segment->set("filler $i", str_repeat("\xfe", random_int(1, 20000)));
            }
            $segment->flush();
        }
        same("$what: one process", 1, count(array_unique($pids)));
        same("$what: alive", true, $server->isAlive());
        same("$what: it ends well", 0, $server->stop());
        same("$what: check", null, $segment->check());
    }
}
echo "done\n";
--EXPECT--
done
