<?php

// Scores the page cache with the public tests for HTTP caches (github.com/http-tests/cache-tests), beside the published results.
//
// php lab/cache-tests.php [--dsn=DSN] [--options=JSON] [--without] [--json=FILE]
// php lab/cache-tests.php --id=ID [--dsn=DSN] [--options=JSON] [--without]
//
// --without leaves the page cache out; --json keeps the suite's own results; --id runs one test and prints its requests
// and responses.

declare(strict_types=1);

namespace Larder\Lab;

use Larder\Lab\CacheTests\Rig;
use Larder\Lab\CacheTests\Score;
use Larder\Lab\CacheTests\Suite;
use Larder\Lab\Service\ServiceFailure;

require __DIR__ . '/../vendor/autoload.php';

$given = [];
foreach (\array_slice($argv, 1) as $argument) {
    if (\preg_match('/^--(?:(dsn|options|json|id)=(.+)|(without))$/D', $argument, $match) !== 1) {
        \fwrite(\STDERR, "Unknown argument $argument. Possible are --dsn=DSN, --options=JSON, --without, --json=FILE and --id=ID.\n");
        exit(2);
    }
    $given[$match[3] ?? $match[1]] = $match[2];
}
$options = \json_decode($given['options'] ?? '{}', true);
if (!\is_array($options)) {
    \fwrite(\STDERR, "--options is no JSON object.\n");
    exit(2);
}
$cached = !isset($given['without']);
try {
    $suite = Suite::installed();
    $tests = $suite->tests();
    /** @var array<string, mixed> $options */
    $rig = new Rig($suite, $given['dsn'] ?? null, $options, $cached);
    if (isset($given['id'])) {
        \in_array($given['id'], \array_column($tests, 'id'), true) || throw new ServiceFailure("The suite has no test $given[id].");
        echo $rig->dump($given['id']);
    } else {
        $results = $suite->run($rig->base());
        if (isset($given['json'])) {
            \file_put_contents($given['json'], \json_encode($results, \JSON_PRETTY_PRINT | \JSON_UNESCAPED_SLASHES | \JSON_THROW_ON_ERROR) . "\n");
        }
        $score = new Score($tests, $results);
        $published = \array_map(static fn(array $theirs): Score => new Score($tests, $theirs), $suite->published());
        echo Score::table([$cached ? 'Larder' : 'without a cache' => $score] + $published), $score->failures();
    }
    \fwrite(\STDERR, $rig->complaints());
    $rig->stop();
} catch (ServiceFailure $failure) {
    \fwrite(\STDERR, $failure->getMessage() . "\n");
    exit(1);
}
