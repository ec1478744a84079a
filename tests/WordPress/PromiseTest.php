<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Request;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Options that many processes change at once, of the web and of the command line: none is lost, none is stale. */
#[Group('wordpress')]
final class PromiseTest extends TestCase
{
    /** What the cache has other than the database: names of options. */
    public const STALE = <<<'PHP'
        $names = [];
        $autoloaded = [];
        foreach ($GLOBALS["wpdb"]->get_results("SELECT option_name, option_value, autoload FROM {$GLOBALS["wpdb"]->options}") as $row) {
            if (in_array($row->autoload, wp_autoload_values_to_autoload(), true)) {
                $autoloaded[$row->option_name] = $row->option_value;
            } elseif (str_starts_with($row->option_name, "larder_o") && get_option($row->option_name) !== $row->option_value) {
                $names[] = $row->option_name;
            }
        }
        $cached = wp_load_alloptions();
        foreach ($cached + $autoloaded as $name => $value) {
            if (($cached[$name] ?? null) !== ($autoloaded[$name] ?? null)) {
                $names[] = $name;
            }
        }
        foreach (array_keys((array) wp_cache_get("notoptions", "options")) as $name) {
            if ($GLOBALS["wpdb"]->get_var($GLOBALS["wpdb"]->prepare("SELECT 1 FROM {$GLOBALS["wpdb"]->options} WHERE option_name = %s", $name)) !== null) {
                $names[] = "not $name";
            }
        }
        PHP;

    /** Sets options to numbers that only grow, and notes when that was done. */
    private const UPDATE = <<<'PHP'
        foreach (json_decode(%s, true) as [$name, $number]) {
            update_option($name, "v$number", %s);
            file_put_contents(%s, json_encode([microtime(true), $name, $number]) . "\n", FILE_APPEND | LOCK_EX);
        }
        PHP;

    /** Of options, the numbers that a request sees. */
    private const READ = '$seen = []; foreach (wp_load_alloptions() as $name => $value) { if (str_starts_with($name, "larder_o")) { $seen[$name] = (int) substr($value, 1); } }';

    /** @param array<string, string> $constants */
    #[Group('long')]
    #[TestWith([[]])]
    #[TestWith([['LARDER_NEAR' => 'none']])]
    #[TestWith([['LARDER_NEAR' => 'apcu']])]
    public function testTwoThousandUpdatesAtTheSameTime(array $constants): void
    {
        $this->testUpdatesAtTheSameTimeAreAllSeenAndNoneIsLost(2_000, $constants);
    }

    /** @param array<string, string> $constants */
    public function testUpdatesAtTheSameTimeAreAllSeenAndNoneIsLost(int $updates = 300, array $constants = []): void
    {
        $site = new InstalledSite($constants);
        try {
            $log = $site->site->content('updates');
            \touch($log);
            $site->site->account->receive($log);
            // Two processes on the command line have a quarter each; the rest is the web's, five in a request.
            $lines = [];
            foreach (['a', 'b'] as $of) {
                $lines[] = $site->site->start($this->update($this->jobs($of, \intdiv($updates, 4)), $log) . 'echo "done";');
            }
            $jobs = \array_chunk($this->jobs('w', $updates - 2 * \intdiv($updates, 4)), 5);
            $reader = null;
            $reads = 0;
            while ($jobs !== []) {
                $begin = \microtime(true);
                $reader ??= $site->site->start(self::READ . 'echo json_encode([BEGIN, $seen]);', before: 'define("BEGIN", microtime(true));');
                // No option is changed by two of them at a time: the later number would not be the last.
                $requests = \array_map(fn(array $job): Request => new Request('/', ['larder_test' => $this->update($job, $log)]), \array_splice($jobs, 0, 3));
                $requests[] = $requests[] = new Request('/', ['larder_test' => self::READ . 'return $seen;']);
                $before = $this->log($log, $begin);
                foreach ($site->site->browser()->together($requests) as $number => $response) {
                    self::assertSame(200, $response->status, $response->body);
                    $said = \json_decode(\trim($response->body), true);
                    if ($requests[$number]->fields === ['larder_test' => self::READ . 'return $seen;']) {
                        $reads++;
                        $this->assertSeen($before, (array) $said);
                    }
                }
                if (!$reader->isRunning()) {
                    self::assertTrue($reader->isSuccessful(), $reader->getErrorOutput());
                    [$begin, $seen] = (array) \json_decode($reader->getOutput(), true);
                    $reads++;
                    $this->assertSeen($this->log($log, (float) $begin), (array) $seen);
                    $reader = null;
                }
            }
            $reader?->wait();
            foreach ($lines as $line) {
                $line->wait();
                self::assertSame('done', $line->getOutput(), $line->getErrorOutput());
            }
            $all = $this->log($log, \INF);
            self::assertCount($updates, \file($log) ?: []);
            self::assertGreaterThan(10, $reads);
            $stored = [];
            foreach ($site->site->sql("SELECT option_name, option_value FROM wp_options WHERE option_name LIKE 'larder_o%'") as $row) {
                $stored[(string) $row['option_name']] = (int) \substr((string) $row['option_value'], 1);
            }
            \ksort($stored);
            \ksort($all);
            self::assertSame($all, $stored, 'None is lost in the database,');
            self::assertSame([], $site->web(self::STALE . 'return $names;'), 'nor older in the cache of the web,');
            self::assertSame('[]', $site->site->cli(self::STALE . 'echo json_encode($names);'), 'nor of the command line.');
            self::assertSame('', $site->site->errors());
        } finally {
            $site->site->stop();
        }
    }

    /**
     * @param array<string, int>     $committed before the reader's request began
     * @param array<array-key, mixed> $seen
     */
    private function assertSeen(array $committed, array $seen): void
    {
        foreach ($committed as $name => $number) {
            self::assertGreaterThanOrEqual($number, $seen[$name] ?? 0, "$name is older than what was committed before the request.");
        }
    }

    /** @return list<array{string, int}> option and number, each option of one process alone */
    private function jobs(string $of, int $updates): array
    {
        $jobs = [];
        for ($i = 0; $i < $updates; $i++) {
            // In a request of the web five, and three requests at once: sixty options do not meet themselves.
            $jobs[] = ["larder_o{$of}_" . $i % 60, 1 + \intdiv($i, 60)];
        }

        return $jobs;
    }

    /** @param list<array{string, int}> $jobs */
    private function update(array $jobs, string $log): string
    {
        return \sprintf(self::UPDATE, \var_export(\json_encode($jobs), true), 'true', \var_export($log, true));
    }

    /** @return array<string, int> the numbers that were committed before that time */
    private function log(string $file, float $before): array
    {
        $numbers = [];
        foreach (\file($file) ?: [] as $line) {
            [$time, $name, $number] = (array) \json_decode($line, true) + [0, '', 0];
            if ($time < $before) {
                $numbers[(string) $name] = \max($numbers[(string) $name] ?? 0, (int) $number);
            }
        }

        return $numbers;
    }
}
