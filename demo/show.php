<?php

// The acts, one after the other; by "failover" the one that has a cluster. Started by run.php, which gives it a directory and clears up after it.

declare(strict_types=1);

namespace Larder\Demo;

require __DIR__ . '/../vendor/autoload.php';

// A session of its own: whatever is started from here on is in it, so that the supervisor can end all of it at once,
// and a terminal's Ctrl-C goes to the supervisor alone.
\posix_setsid();
\pcntl_async_signals(true);
// The supervisor is gone (see Supervisor): nobody else would end what was started.
\pcntl_signal(\SIGTERM, static fn(): bool => \posix_kill(0, \SIGKILL));

exit((new Show(new Terminal(\STDOUT)))->play(($argv[1] ?? '') === 'failover' ? [new Act\FailOver()] : [
    new Act\OneComputation(),
    new Act\Restart(),
    new Act\SecondServer(),
    new Act\CommandLine(),
    new Act\Crowd(),
    new Act\WholePage(),
    new Act\RedisStopped(),
    new Act\OlderView(),
    new Act\Times(),
]));
