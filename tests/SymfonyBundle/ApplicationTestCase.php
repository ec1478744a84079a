<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

/** An application in a directory of its own, whose scenes are played in processes of their own: Symfony takes over error handlers. */
abstract class ApplicationTestCase extends TestCase
{
    protected TemporaryDirectory $root;

    protected function setUp(): void
    {
        Frameworks::demand();
        $this->root = new TemporaryDirectory();
    }

    /**
     * Begins a scene.
     *
     * @param array<string, array<string, mixed>> $config   by the name of the bundle; `framework` is merged with the usual
     * @param array<string, class-string>         $services
     * @param array<string, string|null>          $environment
     */
    protected function begin(string $scene, array $config = [], array $arguments = [], array $services = [], bool $debug = false, array $environment = []): Process
    {
        $text = \json_encode(['config' => $config, 'services' => $services, 'debug' => $debug], \JSON_THROW_ON_ERROR);
        $file = $this->root->file(\hash('xxh128', $text) . '.json');
        // Others may be reading it.
        \is_file($file) || \file_put_contents($file, $text);

        return Process::php(__DIR__ . '/child.php', [$this->root->path, $file, $scene, ...$arguments], ['error_reporting' => \E_ALL, 'display_errors' => 'stderr'], $environment);
    }

    /** What a scene that was begun gives, after so many seconds at most. */
    protected static function end(Process $scene, float $seconds = 120.0): mixed
    {
        $output = $scene->output($seconds);
        self::assertSame([0, ''], [$scene->wait(), $scene->errors()], $output);

        return \json_decode($output, true, 32, \JSON_THROW_ON_ERROR);
    }

    /** Plays a scene; the parameters are those of begin() and end(). */
    protected function play(string $scene, array $config = [], array $arguments = [], array $services = [], bool $debug = false, array $environment = [], float $seconds = 120.0): mixed
    {
        return self::end($this->begin($scene, $config, $arguments, $services, $debug, $environment), $seconds);
    }

    /** @return array<string, array<string, mixed>> */
    protected static function pools(array $pools = [], array $larder = []): array
    {
        return ['framework' => ['cache' => ['app' => 'cache.adapter.larder', 'pools' => $pools]], 'larder' => $larder];
    }
}
