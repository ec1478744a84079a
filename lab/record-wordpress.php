<?php

// Records what the object cache of a real site holds, for the scenario `serializers`: writes lab/Payload/wordpress.gz.
//
// php lab/record-wordpress.php [FILE]

declare(strict_types=1);

namespace Larder\Lab;

use Larder\Lab\Payload\Recording;
use Larder\Lab\WordPress\Options;
use Larder\Lab\WordPress\Recorder;
use Larder\Lab\WordPress\Shop;
use Larder\Lab\WordPress\Site;

require __DIR__ . '/../vendor/autoload.php';

$site = new Site(new Options('7.1', constants: ['WP_DEBUG' => false, 'WP_DEBUG_DISPLAY' => false], errors: \E_ALL & ~\E_DEPRECATED, seed: Shop::seed()));
try {
    Shop::furnish($site);
    $recorded = (new Recorder($site))->record();
} finally {
    $site->stop();
}
$file = $argv[1] ?? Recording::FILE;
\file_put_contents($file, (string) \gzencode(\serialize($recorded), 9));
\printf("%s: %d objects of WordPress %s, %d bytes.\n", $file, \count($recorded['objects']), $recorded['wordpress'], \filesize($file));
