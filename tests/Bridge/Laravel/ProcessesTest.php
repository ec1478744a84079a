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
    #[TestWith(['cache()->sear("k", %s)'])]
    #[TestWith(['cache()->rememberWithWarmth("k", 600, %s)[0]'])]
    #[TestWith(['cache()->flexible("k", [300, 600], %s)'])]
    #[TestWith(['cache()->tags(["t", "u"])->remember("k", 600, %s)'])]
    #[TestWith(['cache()->tags("t")->remember("k", fn () => 600, %s)'])]
    #[TestWith(['cache()->tags("t")->rememberForever("k", %s)'])]
    #[TestWith(['cache()->tags("t")->sear("k", %s)'])]
    #[TestWith(['cache()->tags("t")->flexible("k", [300, 600], %s)'])]
    public function testOneOfTenColdProcessesComputes(string $call): void
    {
        $site = new Site();
        $said = self::together($site, 10, 'echo json_encode(' . \sprintf($call, self::COMPUTE) . ');');
        self::assertSame(\array_fill(0, 10, '"v"'), $said);
        self::assertSame('.', \file_get_contents($site->directory->file('storage/calls')));
    }

    /** Where a window begins, Laravel's own loses hits. */
    public function testTheRateLimiterCountsExactlyFromTheFirstHitOn(): void
    {
        $said = self::together(new Site(), 8, '$hits = []; for ($i = 0; $i < 150; ++$i) { $hits[$i % 50][] = Illuminate\Support\Facades\RateLimiter::hit("k" . $i % 50, 600); } echo json_encode($hits);');
        $windows = \array_fill(0, 50, []);
        foreach ($said as $text) {
            foreach ((array) \json_decode($text, true) as $window => $hits) {
                \array_push($windows[$window], ...$hits);
            }
        }
        foreach ($windows as $hits) {
            \sort($hits);
            self::assertSame(\range(1, 24), $hits);
        }
    }

    /** Also where one window ends and the next begins, and callers ask whether there were too many. */
    public function testTheRateLimiterCountsEachWindowExactly(): void
    {
        $said = self::together(new Site(), 6, <<<'PHP'
            $hits = [];
            for ($end = microtime(true) + 7; microtime(true) < $end;) {
                Larder\Cache::refreshAll();
                $key = 'z' . mt_rand(0, 9);
                if (!Illuminate\Support\Facades\RateLimiter::tooManyAttempts($key, 4)) {
                    $before = microtime(true);
                    $count = Illuminate\Support\Facades\RateLimiter::hit($key, 2);
                    $hits[] = [$key, $count, $before, microtime(true)];
                }
            }
            echo json_encode($hits);
            PHP);
        $last = [];
        $hits = \array_merge(...\array_map(static fn(string $text): array => (array) \json_decode($text, true), $said));
        \usort($hits, static fn(array $one, array $other): int => $one[3] <=> $other[3]);
        foreach ($hits as [$key, $count, $before, $after]) {
            // On a busy machine a process may wait before and after its hit: it was at some moment in between.
            self::assertGreaterThan(0.5, $after - ($last["$key $count"] ?? 0.0), "hit $count of $key was counted twice in a window");
            $last["$key $count"] = $before;
        }
        self::assertGreaterThan(10 * 3 * 4, \count($hits));
    }

    /** What a request has read before, it would answer for a second. */
    public function testWhoTakesALockSeesWhatItsLastHolderLeft(): void
    {
        $site = new Site();
        self::assertSame(0, Site::end($site->run('cache()->put("stock", 10, 600); cache()->put("code", "secret", 600);'))[0]);
        $first = $site->run('cache()->get("stock"); cache()->get("code"); echo "ready\n"; fgets(STDIN); echo json_encode([cache()->pull("code"), cache()->lock("l", 10)->get(fn () => tap(cache()->get("stock") - 1, fn ($n) => cache()->put("stock", $n, 600)))]);');
        $first->expect('ready');
        self::assertSame([0, '"secret"'], Site::end($site->run('cache()->lock("l", 10)->get(fn () => cache()->put("stock", cache()->get("stock") - 4, 600)); echo json_encode(cache()->pull("code"));')));
        $first->write("go\n");
        self::assertSame([0, '[null,5]'], Site::end($first));
        self::assertSame('5', Site::end($site->run('echo cache()->get("stock");'))[1]);
    }

    /** For more: LARDER_CLIENTS=50. Each request goes through the HTTP kernel, with a session, and its writes meet those of all others. */
    #[Group('long')]
    public function testManyClientsMeetNoLockedDatabase(): void
    {
        $clients = (int) (\getenv('LARDER_CLIENTS') ?: 12);
        $requests = 200;
        $site = new Site(['CACHE_STORE' => 'larder', 'SESSION_DRIVER' => 'larder', 'APP_DEBUG' => 'true']);
        $site->directory->write('routes/web.php', <<<'PHP'
            <?php
            use Illuminate\Support\Facades\{Cache, RateLimiter, Route};
            Route::get('/{client}/{n}', function (int $client, int $n) {
                Cache::put("mine-$client", $n, 600);
                Cache::put('all', $n, 600);
                Cache::tags(['t', "t$client"])->put('k', $n, 600);
                $n % 10 || Cache::tags("t$client")->flush();
                $n % 50 || Cache::tags('t')->flush();
                session(['n' => $n]);
                $computed = Cache::remember("r$n", 600, function () use ($n) {
                    file_put_contents(storage_path("computed"), "$n\n", FILE_APPEND);
                    return "r$n";
                });
                $inside = Cache::lock('file', 60)->betweenBlockedAttemptsSleepFor(5)->block(60, function () {
                    $n = (int) file_get_contents(storage_path('counted'));
                    file_put_contents(storage_path('counted'), $n + 1);
                });
                RateLimiter::hit('all', 600);
                return [Cache::get("mine-$client") === $n, $computed === "r$n", Cache::increment('counted')];
            });
            PHP);
        $site->directory->write('storage/counted', '0');
        $said = self::together($site, $clients, <<<PHP
            \$kernel = \$app->make(Illuminate\Contracts\Http\Kernel::class);
            for (\$n = 1; \$n <= $requests; ++\$n) {
                \$response = \$kernel->handle(\$request = Illuminate\Http\Request::create('/' . getmypid() . "/\$n"));
                \$kernel->terminate(\$request, \$response);
                str_starts_with(\$response->getContent(), '[true,true,') || exit(\$response->getContent());
                Larder\Cache::refreshAll();
            }
            echo 'done';
            PHP);
        self::assertSame(\array_fill(0, $clients, 'done'), $said);
        self::assertSame((string) ($clients * $requests), \file_get_contents($site->directory->file('storage/counted')));
        self::assertSame([0, (string) ($clients * $requests)], Site::end($site->run('echo cache("counted");')));
        $computed = \file($site->directory->file('storage/computed'), \FILE_IGNORE_NEW_LINES);
        self::assertIsArray($computed);
        \sort($computed, \SORT_NUMERIC);
        self::assertSame(\array_map(\strval(...), \range(1, $requests)), $computed, 'each once');
        self::assertFileDoesNotExist($site->directory->file('storage/logs/laravel.log'));
    }

    /** @return list<string> what each of them prints */
    private static function together(Site $site, int $count, string $code): array
    {
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

        return \array_map(static function (Process $process) use ($count): string {
            // Fifty are ten thousand requests.
            [$status, $text] = Site::end($process, 120.0 + 10 * $count);
            self::assertSame(0, $status, $text);

            return $text;
        }, $processes);
    }
}
