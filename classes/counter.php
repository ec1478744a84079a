<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\interface_exists('larder\counter\engine', false)
    && !\class_exists('larder\counter\engines', false)
    && !\class_exists('larder\driver\sqlite\durabledatabase', false)
    && require __DIR__ . '/counter.all.php';
