<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\wordpress\choices', false)
    && !\class_exists('larder\wordpress\datadirectory', false)
    && !\class_exists('larder\wordpress\failedreads', false)
    && !\class_exists('larder\wordpress\groups', false)
    && !\class_exists('larder\wordpress\intents', false)
    && !\class_exists('larder\wordpress\objectcache', false)
    && !\class_exists('larder\wordpress\owner', false)
    && !\class_exists('larder\wordpress\prefetch', false)
    && !\class_exists('larder\wordpress\presence', false)
    && !\class_exists('larder\wordpress\quietly', false)
    && !\class_exists('larder\wordpress\replicas', false)
    && !\class_exists('larder\wordpress\site', false)
    && require __DIR__ . '/wordpress.all.php';
