<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\MariaDbServer;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Service\Signals;
use Larder\Lab\Service\Silence;
use Symfony\Component\Process\Process;

/**
 * A WordPress site of its own: private MariaDB, php-fpm and nginx, its files in a temporary directory.
 *
 * This folder holds what makes one: Release (the files), Installation (the database), Configuration (wp-config.php), and
 * by what it is asked: Browser and CommandLine. As root the servers work as www-data, which owns wp-content. All of it
 * goes with stop(), with this object, and with the process, however that ends. A forked child may ask, and stops nothing.
 */
final class Site
{
    public const USER = Installation::USER;
    public const PASSWORD = Installation::PASSWORD;

    /** Seconds that a page under way has at a reload. On a busy machine it needs some of them, and without them it ends with 502. */
    private const GRACE = 20;

    /** Of WordPress; with a slash at its end it is ABSPATH. */
    public readonly string $root;

    public readonly Release $release;
    public readonly Account $account;
    public readonly MariaDbServer $database;
    public readonly PhpFpmServer $fpm;
    public readonly NginxServer $nginx;

    private readonly Directory $directory;
    private readonly CommandLine $line;
    private ?Configuration $configuration = null;
    private string $host = '';

    /** @throws ServiceFailure if something is missing: it says what to type */
    public function __construct(public readonly Options $options = new Options())
    {
        foreach (['mysqli', 'curl'] as $extension) {
            \extension_loaded($extension) || throw new ServiceFailure("A WordPress site needs PHP's extension $extension: type bin/setup wordpress");
        }
        $this->release = Release::find($options->version);
        $this->account = Account::ofServers();
        $this->directory = Signals::held(static fn(): Directory => Directory::temporary())->open();
        $itself = \WeakReference::create($this);
        // A fatal error calls no destructors.
        \register_shutdown_function(static fn() => $itself->get()?->stop());
        try {
            $this->account->enter($this->directory->path);
            $installation = new Installation($options, $this->release, $this->account);
            $this->root = $this->directory->file('www');
            $this->line = new CommandLine($this->account, $this->root, $options->ini());
            $this->database = new MariaDbServer($this->directory, $installation->template($this->directory));
            $this->fpm = new PhpFpmServer($this->directory, $this->account, $options->workers, $options->ini(), self::GRACE);
            $this->database->start();
            $this->release->copy($this->root);
            $this->account->receive($this->content());
            $this->fpm->start();
            $this->nginx = new NginxServer($this->directory, $this->account, $this->root, (string) $this->fpm->address()['socket'], [...$options->nginx, ...$this->network()]);
            $this->nginx->start();
            $this->host = \implode(':', $this->nginx->address());
            $installation->move($this->database, $this->host);
            \touch($this->log());
            $this->account->receive($this->log());
            $this->configuration = Configuration::of($options, $this->database, $this->log(), $this->host, $options->isNetwork());
            $this->define([]);
        } catch (\Throwable $failure) {
            $this->stop();
            throw $failure;
        }
    }

    public function __destruct()
    {
        $this->stop();
    }

    /** @return non-empty-string without a slash at its end */
    public function url(): string
    {
        return "http://$this->host";
    }

    /** wp-content, or a file in it. */
    public function content(string $file = ''): string
    {
        return "$this->root/wp-content" . ($file === '' ? '' : "/$file");
    }

    public function browser(): Browser
    {
        return new Browser($this->url());
    }

    /**
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     */
    public function get(string $path, array $cookies = [], array $headers = []): Response
    {
        return $this->browser()->ask(new Request($path, null, $cookies, $headers));
    }

    /**
     * @param array<mixed>          $fields
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     */
    public function post(string $path, array $fields, array $cookies = [], array $headers = []): Response
    {
        return $this->browser()->ask(new Request($path, $fields, $cookies, $headers));
    }

    /** @return array<string, string> the cookies that say who is asking */
    public function login(string $user = self::USER, string $password = self::PASSWORD): array
    {
        $response = $this->post('/wp-login.php', ['log' => $user, 'pwd' => $password, 'testcookie' => '1'], ['wordpress_test_cookie' => 'WP Cookie check']);
        $cookies = $response->cookies();
        if (\preg_grep('/^wordpress_logged_in_/', \array_keys($cookies)) === []) {
            throw new ServiceFailure("$user cannot log in: status $response->status, $response->body");
        }

        return $cookies;
    }

    /**
     * Runs PHP code in WordPress, on the command line, and returns what it prints.
     *
     * @param string $path   of a network, whose site: "/second/"
     * @param string $before code that runs before WordPress is loaded
     *
     * @throws ServiceFailure if it fails, or PHP complains of anything
     */
    public function cli(string $code, string $path = '/', string $before = ''): string
    {
        return $this->line->run($code, $this->host, $path, $before);
    }

    /** As cli(), without waiting for it. */
    public function start(string $code, string $path = '/', string $before = ''): Process
    {
        return $this->line->start($code, $this->host, $path, $before);
    }

    /** @return list<array<string, ?string>> */
    public function sql(string $statement): array
    {
        return $this->database->query($statement, Installation::DATABASE);
    }

    /** @param string $plugin its main file, from the plugins' directory: "larder/larder.php" */
    public function activate(string $plugin, bool $network = false): void
    {
        $this->cli(\sprintf(
            'require_once ABSPATH . "wp-admin/includes/plugin.php"; $done = activate_plugin(%s, "", %s);'
                . 'if (is_wp_error($done)) { throw new RuntimeException($done->get_error_message()); }',
            \var_export($plugin, true),
            \var_export($network, true),
        ));
    }

    /** Puts a copy of a file into wp-content, in one step, as its owner would. */
    public function putDropIn(string $file, string $name = 'object-cache.php'): void
    {
        $new = $this->content("$name.new");
        \copy($file, $new) || throw new ServiceFailure("Cannot copy $file to $new.");
        $this->account->receive($new);
        \rename($new, $this->content($name));
    }

    public function removeDropIn(string $name = 'object-cache.php'): void
    {
        $file = $this->content($name);
        !\is_file($file) || \unlink($file);
    }

    /**
     * Writes wp-config.php again.
     *
     * @param array<string, string|int|float|bool|null> $constants besides the options', instead of those of the last call
     */
    public function define(array $constants): void
    {
        $new = $this->directory->file('wp-config.php');
        \file_put_contents($new, $this->configuration?->with($constants)->text());
        \chmod($new, 0o600);
        $this->account->receive($new);
        \rename($new, "$this->root/wp-config.php");
    }

    /** What PHP, php-fpm and nginx complained of since the start; '' if of nothing. */
    public function errors(): string
    {
        return \trim(Silence::of(fn(): string => (string) \file_get_contents($this->log())) . $this->fpm->log() . $this->nginx->log());
    }

    /** Stops php-fpm and starts it again: what was in its memory is gone. */
    public function restart(): void
    {
        $this->fpm->stop();
        $this->fpm->start();
    }

    public function reload(): void
    {
        $this->fpm->reload();
    }

    /** Deletes what the plugin keeps on this server outside the site, as if the server were a new one. What others keep there stays. */
    public function forget(): void
    {
        foreach ($this->configuration?->traces() ?? [] as $pattern) {
            foreach (\glob($pattern) ?: [] as $file) {
                Silence::of(static fn(): bool => \is_dir($file) ? \rmdir($file) : \unlink($file));
            }
        }
    }

    /** May be called more than once, and by a signal handler. */
    public function stop(): void
    {
        if ($this->directory->isOwned()) {
            Signals::held(function (): void {
                foreach (['nginx', 'fpm', 'database'] as $server) {
                    isset($this->{$server}) && $this->{$server}->stop();
                }
                $this->forget();
                $this->directory->remove();
            });
        }
    }

    /**
     * Sites in subdirectories: their files are the first one's.
     *
     * @return list<string>
     */
    private function network(): array
    {
        return $this->options->isNetwork() ? [
            'rewrite ^(/[^/]+)?/wp-admin$ $scheme://$http_host$uri/ permanent;',
            'if (!-e $request_filename) { rewrite ^/[^/]+(/wp-(admin|content|includes)/.*|/[^/]+\.php)$ $1 last; }',
        ] : [];
    }

    /** Of PHP, as WP_DEBUG_LOG has it; the pool's user writes it. */
    private function log(): string
    {
        return $this->directory->file('debug.log');
    }
}
