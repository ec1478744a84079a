<?php

/**
 * Plugin Name: Larder
 * Description: A persistent object cache that needs nothing but PHP: fast, shared by web and command line, and never stale. One line more stores whole pages. With Redis, Valkey or Memcached where there are several servers.
 * Version: 0.1.0
 * Requires at least: 6.1
 * Requires PHP: 8.2
 * Network: true
 * Author: Larder
 * License: GPL-2.0-or-later
 * License URI: https://www.gnu.org/licenses/gpl-2.0.html
 * Text Domain: larder
 * Domain Path: /languages
 *
 * @package Larder
 */

declare(strict_types=1);

namespace Larder\WordPress;

\defined('ABSPATH') || exit;

// WordPress looks at the version when it activates a plugin, and not when PHP becomes an older one.
if (\PHP_VERSION_ID < 80200) { // @phpstan-ignore smaller.alwaysFalse
    return;
}

require_once __DIR__ . '/autoload.php';

Plugin::boot(__FILE__);
