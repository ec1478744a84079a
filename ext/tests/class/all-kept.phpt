--TEST--
Nothing is evicted while there is memory
--SKIPIF--
<?php if (getenv('LARDER_VALGRIND')) { echo 'skip minutes under Valgrind'; } ?>
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Each segment has numbers of its own to hash by. Seen to fail: an index that grows when it is half full (of each segment one to six are missing).
for ($round = 0; $round < 4; $round++) {
    unset($segment);
    is_file(path()) && unlink(path());
    $segment = segment(64 << 20);
    $missing = [];
    for ($i = 0; $i < 20_000; $i++) {
        $segment->set("key $i", $i);
    }
    for ($i = 0; $i < 20_000; $i++) {
        if ($segment->get("key $i") !== $i) {
            $missing[] = $i;
        }
    }
    same("round $round", [[], 0], [$missing, $segment->stats()['evictions']]);
}
echo "done\n";
--EXPECT--
done
