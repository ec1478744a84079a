<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\driver\sqlite\sqliteconnection', false)
    && !\class_exists('larder\driver\sqlite\walindex', false)
    && !\class_exists('larder\store\change', false)
    && !\class_exists('larder\store\changeresult', false)
    && !\class_exists('larder\store\record', false)
    && !\class_exists('larder\store\snapshot', false)
    && !\class_exists('larder\store\sqlite\changecounter', false)
    && !\class_exists('larder\store\sqlite\changelog', false)
    && !\class_exists('larder\store\sqlite\databasefiles', false)
    && !\class_exists('larder\store\sqlite\laterows', false)
    && !\class_exists('larder\store\sqlite\opening', false)
    && !\class_exists('larder\store\sqlite\deletedrows', false)
    && !\class_exists('larder\store\sqlite\schema', false)
    && !\class_exists('larder\store\sqlite\sqlitestore', false)
    && !\class_exists('larder\store\sqlite\writing', false)
    && !\class_exists('larder\system\filelock', false)
    && !\class_exists('larder\system\machineboot', false)
    && !\class_exists('larder\system\privatedirectory', false)
    && !\class_exists('larder\request\leases', false)
    && !\class_exists('larder\request\reader', false)
    && !\class_exists('larder\request\remember', false)
    && !\class_exists('larder\request\verdict', false)
    && !\class_exists('larder\request\writer', false)
    && require __DIR__ . '/store.all.php';
