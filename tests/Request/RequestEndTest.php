<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Request\Request;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Request::class)]
final class RequestEndTest extends TestCase
{
    /** PHP ends the request by a shutdown function, and once more when it drops the object. */
    public function testWhatAShutdownFunctionFillsAfterTheRequestHasEndedIsStored(): void
    {
        $directory = new TemporaryDirectory();
        $dsn = "sqlite://$directory->path/cache";
        $script = $directory->write('script.php', '<?php require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ';'
            . ' $cache = Larder\Cache::open(["dsn" => ' . \var_export($dsn, true) . ', "near" => "none"]);'
            . ' echo $cache->get("key", "nothing");'
            . ' register_shutdown_function(static function () use ($cache): void { echo $cache->fill("key", "filled"); });');
        self::assertSame('nothing1', (new Process([\PHP_BINARY, $script]))->output());
        self::assertSame('filled', Cache::open(['dsn' => $dsn, 'near' => 'none'])->get('key'));
    }
}
