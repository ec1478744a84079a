<?php

// The process that measures: a job from standard input, samples to standard output. Nobody types this; see
// Worker/ProcessTask.php.

declare(strict_types=1);

namespace Larder\Lab\Worker;

foreach ([__DIR__ . '/../vendor/autoload.php', __DIR__ . '/../../autoload.php'] as $file) {
    if (\is_file($file)) {
        require $file;
        break;
    }
}

exit(Worker::main());
