--TEST--
A request that has read its share of the segment says that it copies
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: stats() that looks at the address alone.
$segment = segment(4 << 20);
for ($i = 0; $i < 230; $i++) {
    $segment->set("k$i", str_repeat("$i", 5000));
}
$first = $segment->get('k0');
same('in the beginning', ['zero-copy', 0], [$segment->stats()['mode'], $segment->stats()['copied']]);
for ($i = 0; $i < 230; $i++) {
    same("k$i", str_repeat("$i", 5000), $segment->get("k$i"));
}
$stats = $segment->stats();
same('in the end', ['mixed', true, true], [$stats['mode'], $stats['copied'] > 20, $stats['copied'] < 230]);
unset($first);
$segment->release();
same('another job', ['zero-copy', $stats['copied']], [$segment->stats()['mode'], $segment->stats()['copied']]);
echo "done\n";
--EXPECT--
done
