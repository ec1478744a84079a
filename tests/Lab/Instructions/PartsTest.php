<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Instructions;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** bench/parts.php reaches into classes by reflection, so that no analysis sees when one of its parts no longer fits. */
#[Group('slow')]
final class PartsTest extends TestCase
{
    /** @return iterable<string, array{string}> */
    public static function parts(): iterable
    {
        \preg_match_all("/^    '(\\w+)' => '/m", (string) \file_get_contents(self::program()), $found);
        foreach ($found[1] as $part) {
            yield $part => [$part];
        }
    }

    /** Seen to fail: Cache::entry() with a further parameter. */
    #[DataProvider('parts')]
    public function testThePartCanBeRun(string $part): void
    {
        $directory = new TemporaryDirectory('parts');
        $settings = ['-d', 'apc.enable_cli=1', '-d', "larder.state=$directory->path"];
        foreach (['larder.segment', 'apc.shm_size', 'memory_limit'] as $name) {
            \is_string($value = \ini_get($name)) && \array_push($settings, '-d', "$name=$value");
        }
        $run = new Process([\PHP_BINARY, ...$settings, self::program(), $part, '3', $directory->path]);
        self::assertSame([0, '', ''], [$run->wait(), $run->output(), $run->errors()]);
    }

    private static function program(): string
    {
        return \dirname(__DIR__, 3) . '/bench/parts.php';
    }
}
