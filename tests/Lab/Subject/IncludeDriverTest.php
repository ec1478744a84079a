<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** In a process of its own, since OPcache is switched on when PHP starts. */
#[RequiresPhpExtension('Zend OPcache')]
final class IncludeDriverTest extends TestCase
{
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
