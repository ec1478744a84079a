<?php

// A drop-in that records: WordPress's own object cache, of which every request leaves at its end what it holds, in a file
// of wp-content/recorded. Because there is a drop-in, transients are in it too.

declare(strict_types=1);

require ABSPATH . WPINC . '/cache.php';

// WordPress registers its own shutdown function after this one: so this one comes last by registering again.
register_shutdown_function(static function (): void {
    register_shutdown_function(static function (): void {
        $cache = $GLOBALS['wp_object_cache'];
        assert($cache instanceof WP_Object_Cache);
        $groups = (new ReflectionProperty($cache, 'cache'))->getValue($cache);
        assert(is_array($groups));
        // wp_start_object_cache() says of these groups that no drop-in keeps them.
        $held = array_diff_key($groups, ['counts' => 0, 'plugins' => 0, 'theme_json' => 0]);
        $file = WP_CONTENT_DIR . '/recorded/' . hrtime(true) . '-' . getmypid();
        file_put_contents("$file.new", serialize($held));
        rename("$file.new", $file);
    });
});
