<?php

/**
 * What coding a value costs: nanoseconds an encode and a decode, per serializer, beside the serializer alone.
 * Rounds are interleaved. Usage: php bench/codec.php [rounds]
 */

declare(strict_types=1);

use Larder\Codec\Codec;

require __DIR__ . '/../vendor/autoload.php';

$rounds = \max(5, (int) ($argv[1] ?? 31));
$table = [];
for ($i = 0; $i < 50; ++$i) {
    for ($j = 0; $j < 50; ++$j) {
        $table["row {$i}"]["column {$j}"] = "value {$i} {$j}";
    }
}
/** @var array<string, array{mixed, int}> $values the value, and how many times a round */
$values = [
    'short string' => ['a short string', 5000],
    '20 kB string' => [\str_repeat('0123456789', 2048), 5000],
    '50x50 array' => [$table, 20],
    'object' => [(object) ['id' => 1, 'title' => 'A title', 'tags' => ['a', 'b']], 500],
];
$bare = [
    'php' => ['serialize', 'unserialize'],
    'igbinary' => ['igbinary_serialize', 'igbinary_unserialize'],
    'msgpack' => ['msgpack_pack', 'msgpack_unpack'],
];

/** @var array<string, array{Closure(): mixed, int}> $subjects */
$subjects = [];
foreach ($bare as $name => [$pack, $unpack]) {
    if (!\function_exists($pack)) {
        continue;
    }
    $codec = Codec::create($name, null);
    foreach ($values as $label => [$value, $times]) {
        $data = $codec->encode($value);
        if (\serialize($codec->decode($data)) !== \serialize($value)) {
            throw new RuntimeException("{$name} does not keep: {$label}");
        }
        $subjects["{$name}, {$label}: encode"] = [static function () use ($codec, $value, $times): void {
            for ($i = 0; $i < $times; ++$i) {
                $codec->encode($value);
            }
        }, $times];
        $subjects["{$name}, {$label}: decode"] = [static function () use ($codec, $data, $times): void {
            for ($i = 0; $i < $times; ++$i) {
                $codec->decode($data);
            }
        }, $times];
        if (!\is_string($value)) {
            $subjects["{$name}, {$label}: {$pack}"] = [static function () use ($pack, $value, $times): void {
                for ($i = 0; $i < $times; ++$i) {
                    $pack($value);
                }
            }, $times];
            $body = $pack($value);
            $subjects["{$name}, {$label}: {$unpack}"] = [static function () use ($unpack, $body, $times): void {
                for ($i = 0; $i < $times; ++$i) {
                    $unpack($body);
                }
            }, $times];
        }
    }
}

$samples = \array_fill_keys(\array_keys($subjects), []);
for ($round = -2; $round < $rounds; ++$round) {
    foreach ($subjects as $name => [$run, $times]) {
        $start = \hrtime(true);
        $run();
        $nanoseconds = (\hrtime(true) - $start) / $times;
        // The first two rounds warm up.
        if ($round >= 0) {
            $samples[$name][] = $nanoseconds;
        }
    }
}

/** @param non-empty-list<float> $numbers */
function median(array $numbers): float
{
    \sort($numbers);
    $middle = \intdiv(\count($numbers), 2);

    return \count($numbers) % 2 === 1 ? $numbers[$middle] : ($numbers[$middle - 1] + $numbers[$middle]) / 2;
}

\printf("PHP %s, ns an operation\n%-52s %5s %10s %8s\n", \PHP_VERSION, '', 'n', 'median', 'MAD');
foreach ($samples as $name => $numbers) {
    $median = median($numbers);
    $mad = median(\array_map(static fn(float $number): float => \abs($number - $median), $numbers));
    \printf("%-52s %5d %10.0f %8.0f\n", $name, \count($numbers), $median, $mad);
}
