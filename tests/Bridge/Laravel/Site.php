<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;

/** A new application of Laravel's, as one has it after `composer require larder/larder`: nothing is configured but its .env. */
final class Site
{
    public readonly TemporaryDirectory $directory;

    /** @param array<string, string> $environment its .env */
    public function __construct(array $environment = ['CACHE_STORE' => 'larder'], int $mode = 0o755)
    {
        Frameworks::demand();
        $this->directory = $directory = new TemporaryDirectory('larder-site');
        \chmod($directory->path, 0o755);
        foreach (['bootstrap', 'bootstrap/cache', 'vendor', 'vendor/composer', 'routes', 'config', 'public'] as $folder) {
            \mkdir($directory->file($folder));
        }
        foreach (['bootstrap/cache', 'storage', 'storage/framework', 'storage/framework/cache', 'storage/framework/sessions', 'storage/framework/views', 'storage/logs'] as $folder) {
            \is_dir($directory->file($folder)) || \mkdir($directory->file($folder));
            \chmod($directory->file($folder), $mode);
        }
        $root = \dirname(__DIR__, 3);
        $export = static fn(string $path): string => \var_export($path, true);
        $directory->write('vendor/autoload.php', "<?php\n\$loader = require {$export("$root/build/frameworks/autoload.php")};\n\$loader->addPsr4('Larder\\\\', {$export("$root/src")});\n\$loader->addPsr4('Larder\\\\Tests\\\\', {$export("$root/tests")});\nreturn \$loader;\n");
        // By which Laravel finds the packages' providers.
        $package = \json_decode((string) \file_get_contents("$root/composer.json"), true, 16, \JSON_THROW_ON_ERROR);
        $directory->write('vendor/composer/installed.json', \json_encode(['packages' => [$package]], \JSON_THROW_ON_ERROR));
        $directory->write('composer.json', '{"autoload": {"psr-4": {"App\\\\": "app/"}}}');
        $directory->write('routes/web.php', "<?php\nuse Illuminate\\Support\\Facades\\Route;\nRoute::get('/visits', fn () => (string) tap(session('visits', 0) + 1, fn (\$n) => session(['visits' => \$n])));\n");
        $directory->write('bootstrap/app.php', "<?php\nreturn Illuminate\\Foundation\\Application::configure(basePath: dirname(__DIR__))->withRouting(web: __DIR__ . '/../routes/web.php')->withMiddleware()->withExceptions()->create();\n");
        $directory->write('artisan', "<?php\nrequire __DIR__ . '/vendor/autoload.php';\n\$app = require __DIR__ . '/bootstrap/app.php';\nexit(\$app->handleCommand(new Symfony\\Component\\Console\\Input\\ArgvInput()));\n");
        $environment += ['APP_KEY' => 'base64:' . \base64_encode(\str_repeat('k', 32)), 'APP_ENV' => 'production', 'LOG_CHANNEL' => 'single', 'DB_CONNECTION' => 'sqlite'];
        $directory->write('.env', \implode('', \array_map(static fn(string $name, string $value): string => "$name=\"$value\"\n", \array_keys($environment), $environment)));
    }

    /**
     * Starts php artisan.
     *
     * @param string $user who types it; '': the test's
     */
    public function start(string $user, string ...$words): Process
    {
        return $this->process($user, 'artisan', ...$words);
    }

    /**
     * What php artisan prints, with its errors.
     *
     * @return array{int, string} the exit status, and the text
     */
    public function artisan(string ...$words): array
    {
        return self::end($this->start('', ...$words));
    }

    /** @return array{int, string} */
    public function artisanAs(string $user, string ...$words): array
    {
        return self::end($this->start($user, ...$words));
    }

    /**
     * Starts a process of the application that runs code.
     *
     * @param string $code without an opening tag; $app is the application, $argv has the arguments from 1 on
     */
    public function run(string $code, string ...$arguments): Process
    {
        return $this->runAs('', $code, ...$arguments);
    }

    public function runAs(string $user, string $code, string ...$arguments): Process
    {
        $file = 'run-' . \hash('sha256', $code) . '.php';
        \is_file($this->directory->file($file)) || $this->directory->write($file, "<?php\nrequire __DIR__ . '/vendor/autoload.php';\n\$app = require __DIR__ . '/bootstrap/app.php';\n\$app->make(Illuminate\\Contracts\\Console\\Kernel::class)->bootstrap();\n$code\n");

        return $this->process($user, $file, ...$arguments);
    }

    /**
     * @param float $timeout seconds
     *
     * @return array{int, string}
     */
    public static function end(Process $process, float $timeout = 120.0): array
    {
        $process->closeInput();
        $text = $process->output($timeout);

        return [$process->wait($timeout), $text . $process->errors()];
    }

    private function process(string $user, string ...$words): Process
    {
        $command = [\PHP_BINARY, '-d', 'apc.enable_cli=1', '-d', 'display_errors=stderr', '-d', 'error_reporting=-1', ...$words];

        $group = $user === '' ? 0 : (\posix_getpwnam($user)['gid'] ?? throw new \LogicException("No user $user."));

        return new Process($user === '' ? $command : ['setpriv', "--reuid=$user", "--regid=$group", '--init-groups', ...$command], ['LARDER_DSN' => null, 'HOME' => $this->directory->path, 'COLUMNS' => '2000'], $this->directory->path);
    }
}
