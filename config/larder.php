<?php

declare(strict_types=1);

// Larder in Laravel. Without this file all of it is as here. To have it in your application, type:
// php artisan vendor:publish --tag=larder-config

return [

    // Where everything lies that has no place of its own below: sqlite:///directory, redis://host:6379/0, memcached://host, …
    // Null: SQLite in storage/framework/cache/larder, which needs no server.
    'dsn' => env('LARDER_DSN'),

    // Options of Larder\Cache::open(): near, prefix, secret, budget, timeout, lease, … What a store has in config/cache.php
    // besides "driver" is added to these.
    'options' => [],

    // A DSN for locks, which must not be forgotten. Null: as above, or SQLite in storage/framework/cache/larder/locks.
    'locks' => null,

    // A DSN for SESSION_DRIVER=larder. Null: as above, or SQLite in storage/framework/sessions/larder.
    'sessions' => null,

    // Whether a request waits until another one with the same session has ended. False: the last one wins, as with Laravel's
    // other drivers, and Route::block() makes single routes wait.
    'session_lock' => false,
];
