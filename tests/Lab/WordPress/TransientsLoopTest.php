<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\WordPress;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** lab/WordPress/Shop/transients.php, in a WordPress of five functions whose transients are an array. */
final class TransientsLoopTest extends TestCase
{
    /** %s: what lies in the place of a value that is set. */
    private const WORDPRESS = <<<'PHP'
        <?php
        const HOUR_IN_SECONDS = 3600;
        $kept = $sizes = [];
        function wp_cache_flush_runtime() { return true; }
        function set_transient($name, $value) {
            $GLOBALS["kept"][$name] = %s;
            $GLOBALS["sizes"][] = strlen(serialize($value));
            return true;
        }
        function get_transient($name) { return $GLOBALS["kept"][$name] ?? false; }
        function delete_transient($name) {
            %s
            return true;
        }
        register_shutdown_function(fn() => fwrite(STDERR, json_encode([count($GLOBALS["sizes"]), array_sum($GLOBALS["sizes"]) / count($GLOBALS["sizes"]), max($GLOBALS["sizes"])])));
        PHP;

    private const HONEST = ['$value', 'unset($GLOBALS["kept"][$name]);'];

    /** As published: [name, i, i letters], i up to 10,000. Seen to fail: with the string of 35 bytes for both. */
    public function testThePublishedPayloadHasFiveKilobytesOnAverageAlsoWhereThereAreFew(): void
    {
        foreach ([10_000, 1_000] as $count) {
            [$answer, [$sets, $mean, $greatest]] = self::loop(self::HONEST, 'published', $count);
            self::assertSame(['write', 'read', 'delete'], \array_keys($answer));
            self::assertSame($count, $sets);
            self::assertGreaterThan(5_000, $mean);
            self::assertLessThan(5_100, $mean);
            self::assertGreaterThan(9_990, $greatest);
        }
        [, [, $mean]] = self::loop(self::HONEST, 'short', 1_000);
        self::assertLessThan(60, $mean);
    }

    /** @return iterable<string, array{array{string, string}, int}> */
    public static function lies(): iterable
    {
        yield 'a number that became a string' => [['[$value[0], (string) $value[1], $value[2]]', self::HONEST[1]], 1_000];
        yield 'every value one that was set before' => [['reset($GLOBALS["kept"]) ?: $value', self::HONEST[1]], 999];
        yield 'one that stays' => [['$value', 'if (!str_ends_with($name, "_123")) { unset($GLOBALS["kept"][$name]); }'], 1];
        yield 'one that was never kept' => [['str_ends_with($name, "_123") ? null : $value', self::HONEST[1]], 1];
    }

    /**
     * Seen to fail: with "!=", and with a hundred of the deleted asked for again.
     *
     * @param array{string, string} $wordpress
     */
    #[DataProvider('lies')]
    public function testEveryValueIsComparedStrictly(array $wordpress, int $wrong): void
    {
        [$answer] = self::loop($wordpress, 'published', 1_000);
        self::assertSame(['wrong' => "$wrong of 4000 calls gave another value than they should"], $answer);
    }

    /**
     * @param array{string, string} $wordpress what set_transient() keeps, and what delete_transient() does
     *
     * @return array{array<string, mixed>, array{int, float, int}} what it says; and number, mean and maximum of the bytes set
     */
    private static function loop(array $wordpress, string $payload, int $count): array
    {
        $directory = new TemporaryDirectory('lab');
        $script = $directory->write('transients.php', \str_replace(
            ['filter_input(INPUT_GET, \'count\'', 'filter_input(INPUT_GET, \'mark\'', 'filter_input(INPUT_GET, \'payload\')'],
            ["filter_var('$count'", "filter_var('7'", "'$payload'"],
            (string) \file_get_contents(\dirname(__DIR__, 3) . '/lab/WordPress/Shop/transients.php'),
        ));
        $directory->write('wp-load.php', \sprintf(self::WORDPRESS, ...$wordpress));
        $child = Process::php($script);
        /** @var array<string, mixed> $answer */
        $answer = \json_decode($child->output(), true, 8, \JSON_THROW_ON_ERROR);
        /** @var array{int, float, int} $sizes */
        $sizes = \json_decode($child->errors(), true, 8, \JSON_THROW_ON_ERROR);

        return [$answer, $sizes];
    }
}
