<?php

declare(strict_types=1);

// php keep-instructions.php REPORT.json: compares a report's instructions with docs/instructions.json, and keeps them there.

namespace Larder\Lab\Instructions;

use Larder\Lab\Report\JsonReader;
use Larder\Lab\Scenario\Instructions;

require __DIR__ . '/../vendor/autoload.php';

/** @var list<string> $argv */
$now = Kept::of(Instructions::NAME, (new JsonReader())->read($argv[1])->results);
$before = Kept::read(Kept::FILE);
\printf("%-60s %12s %12s %8s\n", $now->conditions, 'kept', 'now', '');
foreach ($now->counts as $id => $count) {
    $kept = $before?->conditions === $now->conditions ? $before->counts[$id] ?? 0 : 0;
    \printf("%-60s %12s %12s %8s\n", $id, $kept === 0 ? '' : \number_format($kept), \number_format($count), $kept === 0 ? '' : \sprintf('%+.1f %%', 100 * ($count / $kept - 1)));
}
foreach ($before?->changes($now) ?? [] as $change) {
    echo $change, "\n";
}
$now->write(Kept::FILE);
