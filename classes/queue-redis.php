<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\codec\compression', false)
    && !\class_exists('larder\queue\message', false)
    && !\class_exists('larder\queue\queuefull', false)
    && !\class_exists('larder\queue\queueoptions', false)
    && !\class_exists('larder\queue\redisscript', false)
    && !\interface_exists('larder\queue\transport', false)
    && !\class_exists('larder\queue\retry', false)
    && !\class_exists('larder\queue\seconds', false)
    && !\class_exists('larder\system\failure', false)
    && require __DIR__ . '/queue-redis.all.php';
