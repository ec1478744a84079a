<?php

declare(strict_types=1);

// A process that pushes or takes messages. Nobody types this; see Queue/QueueTask.php.

namespace Larder\Lab\Queue;

foreach ([__DIR__ . '/../vendor/autoload.php', __DIR__ . '/../../autoload.php'] as $file) {
    if (\is_file($file)) {
        require $file;
        break;
    }
}

/** @var list<string> $argv */
exit(Hand::main($argv));
