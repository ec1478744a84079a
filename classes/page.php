<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\page\budget', false)
    && !\class_exists('larder\page\exchange', false)
    && !\class_exists('larder\page\fastdoor', false)
    && !\class_exists('larder\page\files\fileoptions', false)
    && !\class_exists('larder\page\responseencoder', false)
    && !\class_exists('larder\page\http\cachecontrol', false)
    && !\class_exists('larder\page\pages', false)
    && !\class_exists('larder\page\proxies', false)
    && !\class_exists('larder\page\reply', false)
    && !\class_exists('larder\page\sapi', false)
    && !\class_exists('larder\page\settings', false)
    && !\class_exists('larder\page\tags', false)
    && !\class_exists('larder\page\url', false)
    && !\class_exists('larder\system\purgecounter', false)
    && !\class_exists('larder\request\purgecounters', false)
    && require __DIR__ . '/page.all.php';
