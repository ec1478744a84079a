--TEST--
A process that does many jobs in one request lets go between them
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

$segment = segment();
$segment->set('a', 'older');
$old = $segment->get('a') . '';
$value = $segment->get('a');
same('a reader', 1, $segment->stats()['readers']);
$segment->set('a', 'newer');
same('kept', 'older', $value);
same('its memory is kept', true, $segment->stats()['retired_bytes'] > 0);
unset($value, $old);
// Seen to fail: a release() that does nothing.
$segment->release();
same('no reader', 0, $segment->stats()['readers']);
same('nothing is kept', 0, $segment->stats()['retired_bytes']);
same('it goes on', 'newer', $segment->get('a'));
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
