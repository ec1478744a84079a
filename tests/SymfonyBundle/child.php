<?php

// Plays a scene in an application of Symfony: child.php DIRECTORY SPECIFICATION SCENE ARGUMENT..., prints what it gives as JSON.

declare(strict_types=1);

use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\SymfonyBundle\Application;
use Larder\Tests\SymfonyBundle\Scenes;

require __DIR__ . '/../../vendor/autoload.php';
Frameworks::prefer();

[, $root, $specification, $scene] = $argv;
$specification = json_decode((string) file_get_contents($specification), true, 32, JSON_THROW_ON_ERROR);
$application = new Application($root, $specification['config'], $specification['services'], $specification['debug']);
$application->boot();
echo json_encode(Scenes::$scene($application, ...array_slice($argv, 4)), JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION), "\n";
