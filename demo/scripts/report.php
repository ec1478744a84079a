<?php

// A page that shows a report which takes long to compute; as a web request, or as a process of the command line.

declare(strict_types=1);

use Larder\Cache;
use Larder\Demo\Script;

require __DIR__ . '/../../vendor/autoload.php';

$script = Script::begin($argv ?? []);
$cache = Cache::open();
if ($script->parameter('do') === 'delete') {
    $script->answer($cache->delete('report'), false);
    exit;
}
$computed = false;
$report = $cache->remember('report', static function () use ($script, &$computed): string {
    $computed = true;

    return $script->compute();
});
$script->answer($report, $computed, $cache);
