--TEST--
Names of stream wrappers and filters, of which PHP lets go after everything else
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: without larder_keep_stream_names() both die of signal 11.
segment()->set('names', ['wrapper' => 'larderone', 'filter' => 'larder.one']);
$wrapper = 'class W { public $context; function stream_open(...$a): bool { return true; } }
    stream_wrapper_register($segment->get("names")["wrapper"], "W");
    // Of names that are never freed alone nobody looks at any.
    stream_wrapper_register("larder" . getmypid(), "W");
    echo in_array("larderone", stream_get_wrappers()) ? "ran" : "lost";';
$filter = 'class F extends php_user_filter {}
    stream_filter_register($segment->get("names")["filter"], "F");
    stream_filter_register("larder." . getmypid(), "F");
    echo in_array("larder.one", stream_get_filters()) ? "ran" : "lost";';
foreach (['wrapper' => $wrapper, 'filter' => $filter] as $what => $code) {
    foreach (['0', '1'] as $allocator) {
        $result = child($code, ['LARDER_AFTER' => 'none', 'USE_ZEND_ALLOC' => $allocator]);
        same("$what, $allocator", ['ran', 0], [$result['output'], $result['signal']]);
    }
}
same('check', null, segment()->check());
echo "done\n";
--EXPECT--
done
