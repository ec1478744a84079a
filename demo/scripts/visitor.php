<?php

// Somebody who looks at one product after the other, or the office that changes prices. Writes down each answer.

declare(strict_types=1);

use Larder\Demo\Script;
use Larder\Demo\Visit;
use Larder\Tests\Support\FastCgi;

require __DIR__ . '/../../vendor/autoload.php';

$script = Script::begin($argv);
$dsns = explode("\n", $script->parameter('dsns'));
$connections = array_map(static fn(string $socket): FastCgi => new FastCgi($socket, 30.0), explode("\n", $script->parameter('sockets')));
$change = $script->parameter('change');
$do = $change;
$product = 1;
for ($i = 0; !file_exists($script->parameter('stop')); $i++) {
    // What was not confirmed is tried again.
    $product = $do === $change ? random_int(1, (int) $script->parameter('products')) : $product;
    $server = $i % count($connections);
    $begun = hrtime(true);
    $answer = $connections[$server]->request(__DIR__ . '/product.php', ['shop' => $script->parameter('shop'), 'product' => $product, 'do' => $do], '', ['LARDER_DSN' => $dsns[$server]]);
    $visit = Visit::of($begun, hrtime(true), $product, $answer->status, $answer->body);
    file_put_contents($script->parameter('log'), $visit->toLine(), FILE_APPEND);
    $do = $change === '' || $visit->isConfirmed ? $change : 'again';
    clearstatcache();
    usleep((int) $script->parameter('pause') * 1000);
}
