<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\queue\messageid', false)
    && !\class_exists('larder\queue\pushlog', false)
    && !\class_exists('larder\queue\queuefailure', false)
    && require __DIR__ . '/queue.all.php';
