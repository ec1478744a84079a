<?php

declare(strict_types=1);

// For PHPStan: constants of WordPress that the stubs of its functions do not have.

define('ABSPATH', '/var/www/html/');
define('WPINC', 'wp-includes');
define('WP_CONTENT_DIR', '/var/www/html/wp-content');
define('WP_CONTENT_URL', 'https://example.org/wp-content');
define('WP_PLUGIN_DIR', '/var/www/html/wp-content/plugins');
define('HOUR_IN_SECONDS', 3600);
define('DAY_IN_SECONDS', 86_400);
define('ARRAY_A', 'ARRAY_A');
