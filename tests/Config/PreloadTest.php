<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Cache;
use Larder\Counter;
use Larder\Queue\Queue;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

#[CoversNothing]
final class PreloadTest extends TestCase
{
    // Seen to fail with an older list: these three loaded 22 classes that were not in it.
    public function testAPreloadedRequestLoadsNothing(): void
    {
        if (!\extension_loaded('Zend OPcache')) {
            self::markTestSkipped('No OPcache: bin/setup installs it.');
        }
        $root = \dirname(__DIR__, 2);
        $directory = new TemporaryDirectory();
        $dsn = "sqlite://$directory->path/data";
        Cache::open(['dsn' => $dsn, 'near' => 'none'])->set('k', 'value');
        Counter::open($dsn)->add();
        // The second message finds a log.
        Queue::open($dsn)->pushMany(['one']);
        Queue::open($dsn)->push('two');
        $load = 'require ' . \var_export("$root/vendor/autoload.php", true) . ';';
        $preload = $directory->write('preload.php', "<?php $load require " . \var_export("$root/preload.php", true) . ';');
        $script = $directory->write('script.php', "<?php $load \$dsn = " . \var_export($dsn, true) . ';'
            . ' echo Larder\Cache::open(["dsn" => $dsn, "near" => "none"])->get("k"), Larder\Counter::open($dsn)->add(), strlen(Larder\Queue\Queue::open($dsn)->push("three"));'
            . ' foreach (preg_grep(' . \var_export('~^' . \preg_quote($root, '~') . '/src/~', true) . ', get_included_files()) as $file) { echo "\n$file"; }');
        $process = new Process([\PHP_BINARY, '-d', 'opcache.enable_cli=1', '-d', "opcache.preload=$preload", '-d', 'opcache.preload_user=' . (\posix_geteuid() === 0 ? 'root' : ''), $script]);
        self::assertSame('value228', $process->output());
    }
}
