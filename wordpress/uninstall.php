<?php

/**
 * WordPress includes it when the plugin is deleted.
 *
 * @package Larder
 */

declare(strict_types=1);

namespace Larder\WordPress;

\defined('WP_UNINSTALL_PLUGIN') || exit;

if (\PHP_VERSION_ID < 80200) { // @phpstan-ignore smaller.alwaysFalse
    return;
}

require_once __DIR__ . '/autoload.php';

Uninstall::run();
