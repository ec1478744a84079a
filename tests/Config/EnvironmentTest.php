<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Cache;
use Larder\Config\Environment;
use Larder\Counter;
use Larder\Queue\Queue;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

#[CoversClass(Environment::class)]
final class EnvironmentTest extends TestCase
{
    /** @return iterable<string, array{string}> */
    public static function doors(): iterable
    {
        yield 'cache' => ['\\' . Cache::class . '::open(["dsn" => $dsn, "near" => "apcu"])->get("k");'];
        yield 'queue' => ['\\' . Queue::class . '::open($dsn)->push("k", 1);'];
        yield 'counter' => ['\\' . Counter::class . '::open($dsn)->add();'];
    }

    // Seen to fail for the cache and the queue: their options read the environment in the same file.
    #[DataProvider('doors')]
    public function testARequestThatNamesItsStoreDoesNotMakePhpFillItsVariables(string $use): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('No php-fpm of this PHP version: bin/setup installs it.');
        }
        $directory = new TemporaryDirectory();
        $fpm = new FpmServer(1);
        $load = 'spl_autoload_register(static fn(string $class) => is_file($file = ' . \var_export(\dirname(__DIR__, 2) . '/src/', true)
            . ' . strtr(substr($class, 7), "\\\\", "/") . ".php") && require $file);';
        // Put together, so that the script itself does not name it.
        $script = $fpm->script('door.php', "<?php $load \$dsn = " . \var_export("sqlite://$directory->path/data", true) . "; $use echo isset(\$GLOBALS['_' . 'SERVER']) ? 'filled' : 'not filled';");
        for ($request = 0; $request < 3; $request++) {
            self::assertSame('not filled', $fpm->request($script)->body);
        }
    }
}
