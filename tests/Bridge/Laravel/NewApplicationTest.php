<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What docs/laravel.md tells a stranger to type first, in an application that `composer create-project laravel/laravel` has made. */
#[CoversNothing]
#[Group('bridge')]
#[Group('long')]
final class NewApplicationTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-new');
        $this->type('composer create-project --no-install --no-scripts laravel/laravel app');
        // The tools of those who develop it need other releases of PHP than it does itself.
        $this->type('composer config --unset require-dev');
        // What create-project does next.
        foreach (['cp .env.example .env', 'composer update', 'php artisan key:generate', 'touch database/database.sqlite', 'php artisan migrate --force'] as $line) {
            $this->type($line);
        }
    }

    public function testTheFirstLinesOfTheGuide(): void
    {
        $project = \dirname(__DIR__, 3);
        self::assertSame(1, \preg_match('/^# Laravel\n\n```\n(.*?)```\n/s', (string) \file_get_contents("$project/docs/laravel.md"), $match));
        $lines = \explode("\n", \trim(\str_replace('/path/to/larder', $project, $match[1])));
        self::assertCount(5, $lines);
        $said = [];
        foreach ($lines as $line) {
            $said[] = $this->type($line);
        }
        self::assertStringContainsString('cache cleared successfully', $said[3]);
        self::assertStringContainsString('storage/framework/cache/larder, there', $said[4]);
        self::assertStringContainsString('0 rows', $this->type('echo "$(php -r \'echo (new PDO("sqlite:database/database.sqlite"))->query("SELECT count(*) FROM cache")->fetchColumn();\') rows"'), 'the database has been left');

        // And goes on as one does with Laravel: a request of the web, and the caches of a deployment.
        $this->directory->write('app/routes/web.php', '<?php Route::get("/", fn () => json_encode([Cache::getStore()::class, Cache::flexible("k", [60, 600], fn () => "computed"), Cache::increment("n")]));');
        $request = 'php -r \'require "vendor/autoload.php"; (require "bootstrap/app.php")->handleRequest(Illuminate\Http\Request::create("/"));\'';
        self::assertMatchesRegularExpression('/LarderStore","computed",1\]/', $this->type($request));
        $this->type('php artisan optimize');
        self::assertMatchesRegularExpression('/LarderStore","computed",2\]/', $this->type($request));
        self::assertStringContainsString('storage/framework/cache/larder', $this->type('php artisan about'));
        self::assertStringContainsString('disk (sqlite)', $this->type('php artisan larder:why k'));
        self::assertStringContainsString('Copying file', $this->type('php artisan vendor:publish --tag=larder-config'));
        $this->type('php artisan larder:top --once');
        $this->type('php artisan optimize:clear');
        self::assertMatchesRegularExpression('/LarderStore","computed",1\]/', $this->type($request), 'cache:clear is part of it');
    }

    /** Types a line in the application's directory. */
    private function type(string $line): string
    {
        $application = $this->directory->file('app');
        $process = new Process(['sh', '-c', "exec 2>&1; $line"], ['COMPOSER_ALLOW_SUPERUSER' => '1', 'COMPOSER_NO_INTERACTION' => '1', 'LARDER_DSN' => null, 'COLUMNS' => '2000'], \is_dir($application) ? $application : $this->directory->path);
        $process->closeInput();
        $text = $process->output(300.0);
        self::assertSame(0, $process->wait(300.0), "$line\n$text");

        return $text;
    }
}
