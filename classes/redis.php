<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\driver\redis\redisconnection', false)
    && !\class_exists('larder\driver\redis\endpoint', false)
    && !\class_exists('larder\store\redis\redisstore', false)
    && !\class_exists('larder\store\redis\script', false)
    && !\class_exists('larder\system\staticcopies', false)
    && require __DIR__ . '/redis.all.php';
