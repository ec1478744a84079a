<?php

// One release of an application: php release.php OPTIONS CODE ACTION. Declares classes by the code, then stores or reads.

declare(strict_types=1);

require __DIR__ . '/../../vendor/autoload.php';

/** @var list<string> $argv */
[, $options, $code, $action] = $argv;
eval($code);
/** @var array<string, mixed> $decoded */
$decoded = json_decode($options, true, flags: JSON_THROW_ON_ERROR);
$cache = Larder\Cache::open($decoded);
$value = eval("return $action;");
// What is in a near tier now is another process's too.
$cache->writeFills();
echo json_encode($value, JSON_THROW_ON_ERROR);
