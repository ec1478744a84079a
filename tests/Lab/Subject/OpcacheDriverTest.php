<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** In processes of their own, since OPcache is switched on when PHP starts. */
#[RequiresPhpExtension('Zend OPcache')]
final class OpcacheDriverTest extends TestCase
{
    private const CHILD = '
        use Larder\Lab\Payload\Payloads;
        use Larder\Lab\Subject\EngineFailure;
        use Larder\Lab\Subject\OpcacheDriver;
        set_error_handler(static fn(int $level, string $message) => throw new RuntimeException($message));
        $directory = $argv[1];
        $driver = new OpcacheDriver(["directory" => $directory]);
        $hits = static fn(string $key): int => opcache_get_status()["scripts"]["$directory/$key.php"]["hits"] ?? -1;
        $said = [];
        ';
    private const SAY = '
        echo json_encode($said), "\n";';

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-l');
    }

    /** @return iterable<string, array{string}> */
    public static function payloads(): iterable
    {
        foreach (Payloads::PUBLISHED as $payload) {
            yield $payload => [$payload];
        }
    }

    /** The first include compiles; each one after it is a hit. */
    #[DataProvider('payloads')]
    public function testItComesFromOpcache(string $payload): void
    {
        $said = $this->child('
            $driver->connect();
            $driver->write(["lab:a" => Payloads::get($argv[2])]);
            $said[] = $hits("lab:a");
            $driver->read(["lab:a"]);
            $said[] = $first = $hits("lab:a");
            for ($i = 0; $i < 5; ++$i) {
                $driver->begin();
                $driver->read(["lab:a", "lab:a"]);
            }
            $said[] = $hits("lab:a") - $first;
            $misses = opcache_get_status()["opcache_statistics"]["misses"];
            $driver->read(["lab:a"]);
            $said[] = opcache_get_status()["opcache_statistics"]["misses"] - $misses;', [$payload]);

        self::assertSame([-1, 0, 10, 0], $said);
    }

    /** Also what was written long after the process began: OPcache judges a file's age by the beginning. */
    public function testAFileIsOlderThanOpcacheAsks(): void
    {
        $said = $this->child('
            $driver->connect();
            $driver->write(["lab:a" => "something"]);
            $said = [filemtime("$directory/lab:a.php") + 30 < $_SERVER["REQUEST_TIME"]];
            $driver->read(["lab:a"]);
            $said[] = opcache_is_script_cached("$directory/lab:a.php");', [], ['opcache.file_update_protection' => 30]);

        self::assertSame([true, true], $said);
    }

    /** The smallest number of files that OPcache can be told is 200, of which it makes a prime. */
    public function testAFullOpcacheIsSaidAndNotMeasured(): void
    {
        $said = $this->child('
            $driver->connect();
            $keys = array_map(static fn(int $i): string => "lab:$i", range(1, 500));
            $driver->write(array_fill_keys($keys, "something"));
            $driver->read($keys);
            try {
                $driver->disconnect();
            } catch (EngineFailure $failure) {
                $said = [$failure->getMessage()];
            }', [], ['opcache.max_accelerated_files' => 200]);

        self::assertCount(1, $said);
        self::assertIsString($said[0]);
        self::assertStringContainsString('opcache.max_accelerated_files (now 200)', $said[0]);
    }

    /**
     * @param list<string>          $arguments
     * @param array<string, string|int> $ini
     *
     * @return array<mixed>
     */
    private function child(string $code, array $arguments = [], array $ini = []): array
    {
        return Process::said(self::CHILD . $code . self::SAY, [$this->directory->path, ...$arguments], $ini + ['opcache.enable' => 1, 'opcache.enable_cli' => 1]);
    }

    /** Seen to fail: disconnect() without mustHold(); write() that writes the first value under all keys. */
    public function testWhatIsWrittenIsIncludedFromOpcacheByItsPath(): void
    {
        $directory = new TemporaryDirectory('larder-l');
        $said = Process::said(
            '
            use Larder\Lab\Payload\Payloads;
            use Larder\Lab\Subject\EngineFailure;
            use Larder\Lab\Subject\IncludeDriver;
            set_error_handler(static fn(int $level, string $message) => throw new RuntimeException($message));
            $driver = new IncludeDriver(["directory" => $argv[1]]);
            $driver->connect();
            $said = ["names" => $driver->names(["a"]) === ["$argv[1]/a.php"]];
            $values = array_combine(Payloads::MEMORY, array_map(Payloads::get(...), Payloads::MEMORY));
            foreach (["something else", "another"] as $first) {
                $driver->write(array_fill_keys(array_keys($values), $first));
                $driver->read($driver->names(array_keys($values)));
                $driver->disconnect();
                $driver->write($values);
                foreach ($values as $key => $value) {
                    $said[$key] = $driver->read($driver->names([$key])) == $value;
                    $driver->disconnect();
                }
            }
            $said["last"] = $driver->read($driver->names(["20kB", "short"]));
            $said["cached"] = opcache_is_script_cached("$argv[1]/short.php");
            opcache_invalidate("$argv[1]/short.php", true);
            try {
                $driver->disconnect();
                $said["lost"] = "not noticed";
            } catch (EngineFailure $e) {
                $said["lost"] = "noticed";
            }
            echo json_encode($said), "\n";',
            [$directory->path],
            ['opcache.enable_cli' => 1],
        );

        self::assertSame([
            'names' => true, 'short' => true, '20kB' => true, 'integers' => true, '50x50' => true, 'objects' => true,
            'last' => 'value 00000042', 'cached' => true, 'lost' => 'noticed',
        ], $said);
    }
}
