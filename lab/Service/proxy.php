<?php

declare(strict_types=1);

// The process of a Network: php proxy.php TARGET DELAY RATE FILE, as Proxy takes the first three. It writes its
// port to the file when it listens, and is ended by a signal.

use Larder\Lab\Service\Proxy;

require __DIR__ . '/Line.php';
require __DIR__ . '/Pipe.php';
require __DIR__ . '/Proxy.php';

set_error_handler(static fn(): bool => true);
// Waits end when they are due, instead of up to 50 microseconds later (PR_SET_TIMERSLACK(2const)).
is_writable('/proc/self/timerslack_ns') && file_put_contents('/proc/self/timerslack_ns', '1');
// A network does not wait for a processor that others keep busy; without root it has to.
function_exists('proc_nice') && proc_nice(-20);
restore_error_handler();

$proxy = new Proxy($argv[1] ?? '', (int) ($argv[2] ?? 0), (int) ($argv[3] ?? 0));
$port = $proxy->listen();
$file = $argv[4] ?? '';
file_put_contents("$file.new", (string) $port);
rename("$file.new", $file);
$proxy->run();
