<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Many processes of one application at once. */
#[CoversNothing]
#[Group('bridge')]
final class ProcessesTest extends TestCase
{
    private const COMPUTE = 'function () { file_put_contents(storage_path("calls"), ".", FILE_APPEND); usleep(300000); return "v"; }';

    #[TestWith(['cache()->remember("k", 600, %s)'])]
    #[TestWith(['cache()->rememberForever("k", %s)'])]
    #[TestWith(['cache()->remember("k", fn () => 600, %s)'])]
    #[TestWith(['cache()->flexible("k", [300, 600], %s)'])]
    #[TestWith(['cache()->tags(["t", "u"])->remember("k", 600, %s)'])]
    #[TestWith(['cache()->tags("t")->flexible("k", [300, 600], %s)'])]
    public function testOneOfTenColdProcessesComputes(string $call): void
    {
        $site = new Site();
        $said = self::together($site, 10, 'echo json_encode(' . \sprintf($call, self::COMPUTE) . ');');
        self::assertSame(\array_fill(0, 10, '"v"'), $said);
        self::assertSame('.', \file_get_contents($site->directory->file('storage/calls')));
    }

    public function testTheRateLimiterCountsExactly(): void
    {
        $said = self::together(new Site(), 8, '$hits = []; for ($i = 0; $i < 50; ++$i) { $hits[] = Illuminate\Support\Facades\RateLimiter::hit("k", 600); } echo json_encode($hits);');
        $hits = \array_merge(...\array_map(static fn(string $text): array => (array) \json_decode($text, true), $said));
        \sort($hits);
        self::assertSame(\range(1, 400), $hits);
    }

    /** @return list<string> what each of them prints */
    private static function together(Site $site, int $count, string $code): array
    {
        // So many at once on a busy machine may hold each other up for longer than Larder waits before it goes on without its files.
        $site->directory->write('config/larder.php', '<?php return ["options" => ["timeout" => 30]];');
        /** @var list<Process> $processes */
        $processes = [];
        for ($i = 0; $i < $count; ++$i) {
            $processes[] = $site->run('echo "ready\n"; fgets(STDIN); ' . $code);
        }
        foreach ($processes as $process) {
            $process->expect('ready');
        }
        foreach ($processes as $process) {
            $process->write("go\n");
        }

        return \array_map(static function (Process $process): string {
            [$status, $text] = Site::end($process);
            self::assertSame(0, $status, $text);

            return $text;
        }, $processes);
    }
}
