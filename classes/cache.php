<?php

declare(strict_types=1);

// Made by bin/classes from src/.

!\class_exists('larder\codec\codec', false)
    && !\class_exists('larder\codec\entry', false)
    && !\class_exists('larder\codec\entrysigner', false)
    && !\class_exists('larder\config\assembly', false)
    && !\class_exists('larder\config\directory', false)
    && !\class_exists('larder\config\dsn', false)
    && !\class_exists('larder\config\options', false)
    && !\class_exists('larder\config\storefactory', false)
    && !\interface_exists('larder\store\store', false)
    && !\class_exists('larder\store\journal\journalslice', false)
    && !\class_exists('larder\store\markers', false)
    && !\interface_exists('larder\store\watch', false)
    && !\class_exists('larder\system\circuitbreaker', false)
    && !\class_exists('larder\system\clock', false)
    && !\class_exists('larder\system\failurelog', false)
    && !\class_exists('larder\system\ownership', false)
    && !\class_exists('larder\system\process', false)
    && !\class_exists('larder\system\quiet', false)
    && !\class_exists('larder\system\signals', false)
    && !\class_exists('larder\request\invalidkey', false)
    && !\interface_exists('larder\near\near', false)
    && !\class_exists('larder\request\pendinginvalidations', false)
    && !\trait_exists('larder\request\plainhitpath', false)
    && !\class_exists('larder\request\request', false)
    && !\class_exists('larder\request\requesthistory', false)
    && !\class_exists('larder\request\requesttier', false)
    && !\class_exists('larder\request\space', false)
    && !\class_exists('larder\request\truth', false)
    && !\class_exists('larder\request\view', false)
    && require __DIR__ . '/cache.all.php';
