<?php

// Somebody who looks at one product after the other, or the office that changes prices. Each answer is a line of JSON:
// [begun, ended (hrtime, nanoseconds), product, HTTP status, price, whether it was computed]; for the office in the place of the
// last two: price, and whether the cache has confirmed that it forgets the former one.

declare(strict_types=1);

use Larder\Tests\Support\FastCgi;

require __DIR__ . '/../../vendor/autoload.php';

parse_str($argv[1], $told);
['shop' => $shop, 'products' => $products, 'stop' => $stop, 'log' => $log, 'pause' => $pause, 'servers' => $servers] = $told;
$isOffice = isset($told['office']);
$connections = array_map(static fn(array $server): FastCgi => new FastCgi($server['socket'], 30.0), $servers);
$do = $isOffice ? 'change' : '';
$product = 1;
for ($i = 0; !file_exists($stop); $i++) {
    // What was not confirmed is tried again.
    $product = $do === 'again' ? $product : random_int(1, (int) $products);
    $server = $i % count($servers);
    $begun = hrtime(true);
    $answer = $connections[$server]->request(__DIR__ . '/product.php', ['shop' => $shop, 'product' => $product, 'do' => $do], '', ['LARDER_DSN' => $servers[$server]['dsn']]);
    $ended = hrtime(true);
    $said = json_decode($answer->body, true);
    $value = $said['value'] ?? null;
    $price = is_array($value) ? $value['price'] : $value;
    $isSo = is_array($value) ? $value['deleted'] : ($said['computed'] ?? null);
    file_put_contents($log, json_encode([$begun, $ended, $product, $answer->status, $price, $isSo]) . "\n", FILE_APPEND);
    $do = !$isOffice ? '' : ($isSo === true ? 'change' : 'again');
    clearstatcache();
    usleep((int) $pause * 1000);
}
