<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Options;
use Larder\Lab\WordPress\Site;
use PHPUnit\Framework\Assert;
use Symfony\Component\Process\Process;

/**
 * A site that has the plugin as it is installed, PHP code that runs in a request of it, and WP-CLI on it.
 *
 * What its subclasses add: pages that are stored (PageSite), an administrator at the list of plugins (PluginSite),
 * requests that die after a statement (IntentSite).
 */
class InstalledSite
{
    /** Runs PHP code that a request of the web brings along, when WordPress is ready. */
    protected const PROBE = <<<'PHP'
        <?php

        add_action('wp_loaded', static function (): void {
            if (isset($_POST['larder_test'])) {
                echo "\n", json_encode(eval(wp_unslash($_POST['larder_test'])));
                exit;
            }
        });
        PHP;

    public readonly Site $site;

    private ?string $name = null;

    /**
     * @param array<string, string|int|float|bool|null> $constants
     * @param ?list<string>                             $sites     as Options takes them
     * @param array<string, string|int|float>           $ini
     * @param list<string>                              $nginx     as Options takes them
     * @param string                                    $folder    the plugin's
     */
    public function __construct(
        array $constants = [],
        protected readonly ?array $sites = null,
        array $ini = [],
        array $nginx = [],
        private readonly string $folder = 'larder',
    ) {
        $this->site = self::bare($sites, $nginx, $constants, $ini);
        $this->put();
        $this->write('mu-plugins/probe.php', static::PROBE);
        $this->begin();
    }

    /**
     * Of the release that is tested, without the plugin.
     *
     * @param ?list<string>                             $sites
     * @param list<string>                              $nginx
     * @param array<string, string|int|float|bool|null> $constants
     * @param array<string, string|int|float>           $ini
     */
    public static function bare(?array $sites, array $nginx = [], array $constants = [], array $ini = []): Site
    {
        // What of WordPress is for networks has deprecations of its own.
        $errors = $sites === null ? \E_ALL : \E_ALL & ~\E_DEPRECATED;

        return new Site(new Options(\getenv('LARDER_WORDPRESS') ?: '7.1', $sites, $constants, $ini, nginx: $nginx, errors: $errors));
    }

    /** Writes a file of wp-content, which belongs to the site's user then. */
    public function write(string $name, string $text): void
    {
        $file = $this->site->content($name);
        $new = \is_dir(\dirname($file)) ? $file : \dirname($file);
        $new === $file || \mkdir($new);
        \file_put_contents($file, $text);
        $this->site->account->receive($new);
    }

    /** Runs PHP code in a request of the web, to an address that nothing is stored for, and gives back what it returns. */
    public function web(string $code, string $path = '/'): mixed
    {
        $response = $this->site->post("{$path}larder-probe/", ['larder_test' => $code]);
        Assert::assertSame(200, $response->status, $response->body);
        $lines = \explode("\n", $response->body);
        Assert::assertSame('', $lines[0] . ($lines[2] ?? ''), 'Nothing else is printed.');

        return \json_decode($lines[1], true, flags: \JSON_THROW_ON_ERROR);
    }

    /** What the plugin calls the site, in names of files outside of it. */
    public function name(): string
    {
        return $this->name ??= $this->site->cli('echo Larder\WordPress\Presence::name();');
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
        $process = new Process([...$user, ...$this->command(...$words)], '/', ['HOME' => '/nonexistent', 'WP_CLI_PHP' => \PHP_BINARY], timeout: 60.0);
        $process->run();

        return new WpCliResult((int) $process->getExitCode(), $process->getOutput(), $process->getErrorOutput());
    }

    /** @return non-empty-list<string> */
    public function command(string ...$words): array
    {
        return [\dirname(__DIR__, 2) . '/bin/wp', '--path=' . $this->site->root, '--url=' . $this->site->url(), '--no-color', ...\array_values($words)];
    }

    /**
     * What a command lists as JSON, each column of numbers added up.
     *
     * @return array<array-key, int|float>
     */
    public function sum(string ...$words): array
    {
        $sum = [];
        foreach ($this->wp(...$words)->json() as $row) {
            foreach ($row as $name => $value) {
                if (\is_int($value) || \is_float($value)) {
                    $sum[$name] = ($sum[$name] ?? 0) + $value;
                }
            }
        }

        return $sum;
    }

    /** What is done when the plugin's files are there. */
    protected function begin(): void
    {
        $this->site->activate('larder/larder.php', $this->sites !== null);
    }

    private function put(): void
    {
        $plugins = $this->site->content('plugins');
        \is_dir($plugins) || \mkdir($plugins);
        (new Process(['cp', '-r', BuiltPlugin::path(), "$plugins/$this->folder"]))->mustRun();
        $this->site->account->receive($plugins);
    }
}
