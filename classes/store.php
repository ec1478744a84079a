<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\driver\sqlite\connection', false)
    && !\class_exists('larder\driver\sqlite\walindex', false)
    && !\class_exists('larder\store\change', false)
    && !\class_exists('larder\store\outcome', false)
    && !\class_exists('larder\store\record', false)
    && !\class_exists('larder\store\snapshot', false)
    && !\class_exists('larder\store\sqlite\changecounter', false)
    && !\class_exists('larder\store\sqlite\changelog', false)
    && !\class_exists('larder\store\sqlite\databasefiles', false)
    && !\class_exists('larder\store\sqlite\laterows', false)
    && !\class_exists('larder\store\sqlite\opening', false)
    && !\class_exists('larder\store\sqlite\past', false)
    && !\class_exists('larder\store\sqlite\schema', false)
    && !\class_exists('larder\store\sqlite\sqlitestore', false)
    && !\class_exists('larder\store\sqlite\writing', false)
    && !\class_exists('larder\system\filelock', false)
    && !\class_exists('larder\system\machineboot', false)
    && !\class_exists('larder\system\privatedirectory', false)
    && !\class_exists('larder\tier\leases', false)
    && !\class_exists('larder\tier\reader', false)
    && !\class_exists('larder\tier\remember', false)
    && !\class_exists('larder\tier\verdict', false)
    && !\class_exists('larder\tier\writer', false)
    && require __DIR__ . '/store.all.php';
