<?php

declare(strict_types=1);

// Place::ask() from inside another network namespace: prints what the server at an address answers.

require __DIR__ . '/Place.php';

echo Larder\Lab\Service\Place::answer($argv[1] ?? '', $argv[2] ?? '');
