<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\AfterClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * The segment's core without PHP: builds ext/tests/core, which says what is tested, and runs it. What each of them was
 * seen to fail on is written there.
 */
final class CoreTest extends TestCase
{
    /** Seconds; the slowest takes a quarter of a minute where nothing else runs, and minutes under sanitizers. */
    private const PATIENCE = 900.0;

    /** @var array<string, string> compiler flags to program */
    private static array $built = [];
    private static ?TemporaryDirectory $programs = null;

    #[AfterClass]
    public static function forgetPrograms(): void
    {
        self::$built = [];
        self::$programs = null;
    }

    /** @return array<string, array{string, string}> test, and what it prints when it was right */
    public static function everything(): array
    {
        return [
            'SIGKILL at every named point, under every lock; zombies, exec, dying twice' => ['death', '/^\d{3,} deaths at \d{3} points$/m'],
            'many processes, killed at random' => ['stress', '/^\d+ kills, \d+ recoveries/m'],
            'a sleeping reader while others fill the segment' => ['sleeper', '/^\d+ KiB kept at most/m'],
            'the publish race, in every interleaving' => ['model', '/^as it is +is right in \d{6,} states$/m'],
            'hit ratios beside a plain SIEVE, sizes that change' => ['sieve', '/^small values after those /m'],
            'what is over' => ['expiry', '/^\d+ of \d+ live values/m'],
            'threads' => ['threads', '/^$/'],
            'children of fork, and what the dead left' => ['fork', '/^\d+ children of the dead$/m'],
            'what fits, and what it takes' => ['room', '/^values of 192 bytes/m'],
            'what is no segment any more' => ['lost', '/^$/'],
            'keys that are always there, beside writers' => ['presence', '/^1200000 reads of what is there/m'],
        ];
    }

    #[DataProvider('everything')]
    #[Group('slow')]
    public function testCore(string $test, string $right): void
    {
        self::assertMatchesRegularExpression($right, $this->runCore(self::program(), $test, ['LARDER_SECONDS' => '1']));
    }

    #[Group('slow')]
    public function testSlotExhaustion(): void
    {
        self::assertMatchesRegularExpression('/^14 processes, [1-7] with a slot$/m', $this->runCore(self::program('-DSEG_SLOTS=8'), 'slots'));
    }

    #[Group('long')]
    #[DataProvider('everything')]
    public function testWithAddressAndUndefinedBehaviourSanitizers(string $test, string $right): void
    {
        $program = self::program('-fsanitize=address,undefined', '-fno-sanitize-recover=all');
        $long = $test === 'presence' ? [] : ['LARDER_LONG' => '1', 'LARDER_SECONDS' => '30'];
        self::assertMatchesRegularExpression($right, $this->runCore($program, $test, $long));
    }

    /** Beside two writers, ten million each of get, has and a look at a guard. */
    #[Group('long')]
    public function testThirtyMillionReadsOfWhatIsThere(): void
    {
        self::assertMatchesRegularExpression('/^30000000 reads of what is there/m', $this->runCore(self::program('-O2'), 'presence', ['LARDER_LONG' => '1']));
    }

    #[Group('long')]
    public function testThreadsUnderThreadSanitizer(): void
    {
        $program = self::program('-fsanitize=thread', '-fno-inline', '-Wl,--wrap=mmap');
        self::assertSame('', $this->runCore($program, 'threads', ['TSAN_OPTIONS' => 'exitcode=66'], ['setarch', '-R']));
    }

    /**
     * @param array<string, string> $environment
     * @param list<string>          $before      a program that runs it
     */
    private function runCore(string $program, string $test, array $environment = [], array $before = []): string
    {
        $directory = Extension::directory();
        $process = new Process([...$before, $program, $test, $directory->path], $environment);
        $status = $process->wait(self::PATIENCE);
        self::assertSame(0, $status, $test . ' failed: ' . $process->errors());
        self::assertSame([], \array_diff((array) \scandir($directory->path), ['.', '..']), $test . ' has left something');

        return $process->output();
    }

    private static function program(string ...$flags): string
    {
        $key = \implode(' ', $flags);
        if (isset(self::$built[$key])) {
            return self::$built[$key];
        }
        self::$programs ??= new TemporaryDirectory('larder-core');
        $program = self::$programs->file('core' . \count(self::$built));
        $extension = \dirname(__DIR__, 2) . '/ext';
        $compiler = \getenv('CC');
        $process = new Process([
            $compiler === false || $compiler === '' ? 'cc' : $compiler,
            '-std=c11', '-D_GNU_SOURCE', '-DSEG_POINTS', '-O1', '-g', '-Wall', '-Wextra', '-Werror',
            '-I' . $extension . '/segment', '-I' . $extension . '/tests/core', ...$flags, '-o', $program,
            ...self::files($extension . '/segment/*.c'), ...self::files($extension . '/tests/core/*.c'), '-lpthread', '-lm',
        ]);
        self::assertSame(0, $process->wait(self::PATIENCE), 'It cannot be built: ' . $process->errors());

        return self::$built[$key] = $program;
    }

    /** @return list<string> */
    private static function files(string $pattern): array
    {
        $files = \glob($pattern);
        self::assertNotEmpty($files, $pattern . ' are not there');

        return \array_values($files);
    }
}
