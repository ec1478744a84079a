<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Options;
use Larder\Lab\WordPress\Site;
use PHPUnit\Framework\Assert;
use Symfony\Component\Process\Process;

/** A site that has the plugin as it is installed, and WP-CLI on it. */
final class CliSite
{
    private const PROBE = <<<'PHP'
        <?php

        add_action('wp_loaded', static function (): void {
            if (isset($_POST['larder_test'])) {
                echo "\n", json_encode(eval(wp_unslash($_POST['larder_test'])));
                exit;
            }
        });
        PHP;

    public readonly Site $site;

    /**
     * @param array<string, string|int|float|bool|null> $constants
     * @param ?list<string>                             $sites     as Options takes them
     * @param array<string, string|int|float>           $ini
     */
    public function __construct(array $constants = [], ?array $sites = null, array $ini = [])
    {
        $this->site = new Site(new Options(
            \getenv('LARDER_WORDPRESS') ?: '7.1',
            $sites,
            ini: $ini,
            // What of WordPress is for networks has deprecations of its own.
            errors: $sites === null ? \E_ALL : \E_ALL & ~\E_DEPRECATED,
        ));
        $plugins = $this->site->content('plugins');
        \is_dir($plugins) || \mkdir($plugins);
        \is_dir($this->site->content('mu-plugins')) || \mkdir($this->site->content('mu-plugins'));
        self::succeed(['cp', '-r', BuiltPlugin::path(), $plugins . '/larder']);
        \file_put_contents($this->site->content('mu-plugins/probe.php'), self::PROBE);
        $this->site->account->receive($this->site->content());
        $this->site->activate('larder/larder.php', $sites !== null);
    }

    /** Runs PHP code in a request of the web, and gives back what it returns. */
    public function web(string $code, string $path = '/'): mixed
    {
        $response = $this->site->post($path, ['larder_test' => $code]);
        Assert::assertSame(200, $response->status, $response->body);
        $lines = \explode("\n", $response->body);
        Assert::assertSame('', $lines[0] . ($lines[2] ?? ''), 'Nothing else is printed.');

        return \json_decode($lines[1], true, flags: \JSON_THROW_ON_ERROR);
    }

    /** WP-CLI, as the site's user. */
    public function wp(string ...$words): WpCliResult
    {
        return $this->wpAs($this->site->account->words(), ...$words);
    }

    /** As the user that runs the tests, who may be root. */
    public function wpAsRoot(string ...$words): WpCliResult
    {
        return $this->wpAs([], '--allow-root', ...$words);
    }

    /** @param list<string> $user words before the command that change to a user */
    public function wpAs(array $user, string ...$words): WpCliResult
    {
        $process = new Process(
            [...$user, \dirname(__DIR__, 2) . '/bin/wp', '--path=' . $this->site->root, '--url=' . $this->site->url(), '--no-color', ...$words],
            '/',
            ['HOME' => '/nonexistent', 'WP_CLI_PHP' => \PHP_BINARY],
            timeout: 60.0,
        );
        $process->run();

        return new WpCliResult((int) $process->getExitCode(), $process->getOutput(), $process->getErrorOutput());
    }

    /**
     * What a command lists as JSON, each column of numbers added up.
     *
     * @return array<array-key, int|float>
     */
    public function sum(string ...$words): array
    {
        $sum = [];
        foreach ((array) $this->wp(...$words)->json() as $row) {
            foreach ((array) $row as $name => $value) {
                if (\is_int($value) || \is_float($value)) {
                    $sum[$name] = ($sum[$name] ?? 0) + $value;
                }
            }
        }

        return $sum;
    }

    /** @param list<string> $words */
    private static function succeed(array $words): void
    {
        (new Process($words))->mustRun();
    }
}
