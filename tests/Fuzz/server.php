<?php

// A server of the fuzz: forks processes, which share its APCu, and forks anew what was killed, until its time is over.
// Its input is one letter a line: c empties APCu; a ends it, after one last look at every key.

declare(strict_types=1);

namespace Larder\Tests\Fuzz;

use Larder\Tests\Coherence\Settings;

require __DIR__ . '/../../vendor/autoload.php';

[, $json, $seed, $until, $count] = $argv;
$settings = Settings::from((array) \json_decode($json, true));
\stream_set_blocking(\STDIN, false);
$living = [];
$born = 0;
do {
    while (\count($living) < (int) $count && \hrtime(true) < (int) $until) {
        $pid = \pcntl_fork();
        if ($pid === 0) {
            exit(Requests::serve($settings, (int) $seed + 1_000_000 * $born, (int) $until));
        }
        $born++;
        $living[$pid] = true;
        echo "born $pid\n";
    }
    \usleep(2000);
    while (($pid = \pcntl_wait($status, \WNOHANG)) > 0) {
        unset($living[$pid]);
        echo "dead $pid ", \pcntl_wifsignaled($status) ? 'killed' : \pcntl_wexitstatus($status), "\n";
    }
    if (\fgets(\STDIN) === "c\n") {
        \apcu_clear_cache();
    }
} while ($living !== []);
echo "end\n";
\stream_set_blocking(\STDIN, true);
if (\fgets(\STDIN) === "a\n") {
    Requests::look($settings);
}
echo "end\n";
