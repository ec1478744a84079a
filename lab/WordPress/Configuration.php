<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\MariaDbServer;

/** Writes wp-config.php. */
final readonly class Configuration
{
    private const SALTS = [
        'AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT',
    ];

    /**
     * @param array<string, string|int|float|bool|null> $constants
     * @param string                                    $temporary the site's directory for temporary files
     */
    private function __construct(
        private array $constants,
        private int $errors,
        private string $temporary,
    ) {}

    /**
     * @param string $log     file that PHP's errors go to
     * @param string $host    with the port
     * @param bool   $network whether the database is a network's already
     */
    public static function of(Options $options, MariaDbServer $database, string $log, string $host, bool $network): self
    {
        $constants = $options->constants + [
            'DB_NAME' => Installation::DATABASE,
            'DB_USER' => MariaDbServer::USER,
            'DB_PASSWORD' => $database->password(),
            'DB_HOST' => "localhost:{$database->socket()}",
            'DB_CHARSET' => 'utf8mb4',
            'DB_COLLATE' => '',
            // Shown, so that a test sees in a page what WordPress says of it.
            'WP_DEBUG' => true,
            'WP_DEBUG_DISPLAY' => true,
            'WP_DEBUG_LOG' => $log,
            'DISABLE_WP_CRON' => true,
            'AUTOMATIC_UPDATER_DISABLED' => true,
            'WP_AUTO_UPDATE_CORE' => false,
            'WP_HTTP_BLOCK_EXTERNAL' => true,
            // The pool's user may write wp-content, and its files are its own.
            'FS_METHOD' => 'direct',
        ];
        foreach (self::SALTS as $name) {
            $constants += [$name => \bin2hex(\random_bytes(32))];
        }
        if ($options->isNetwork()) {
            $constants += ['WP_ALLOW_MULTISITE' => true];
        }
        if ($network) {
            $constants += [
                'MULTISITE' => true,
                'SUBDOMAIN_INSTALL' => false,
                'DOMAIN_CURRENT_SITE' => $host,
                'PATH_CURRENT_SITE' => '/',
                'SITE_ID_CURRENT_SITE' => 1,
                'BLOG_ID_CURRENT_SITE' => 1,
            ];
        }

        return new self($constants, $options->errors, (string) ($options->ini()['sys_temp_dir'] ?? \sys_get_temp_dir()));
    }

    /** @param array<string, string|int|float|bool|null> $constants further ones, or other values */
    public function with(array $constants): self
    {
        return new self($constants + $this->constants, $this->errors, $this->temporary);
    }

    /**
     * How Larder's plugin calls a site outside of its directory: Presence::name(), and the drop-in.
     *
     * @param array<string, mixed> $constants
     */
    public static function siteName(array $constants): string
    {
        $site = '';
        foreach (['DB_NAME', 'DB_PASSWORD', 'AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY'] as $name) {
            $value = $constants[$name] ?? '';
            $site .= \is_string($value) ? $value . ' ' : '';
        }

        return \hash('md5', $site . 'wp_');
    }

    /**
     * Patterns of what Larder's plugin leaves outside the site.
     *
     * @return list<string>
     */
    public function traces(): array
    {
        $name = self::siteName($this->constants);

        return ["/var/tmp/larder-$name-*", "$this->temporary/larder-$name-*", "/dev/shm/larder-serve-*-$name-*/*", "/dev/shm/larder-serve-*-$name-*"];
    }

    public function text(): string
    {
        $text = "<?php\n\n";
        foreach ($this->constants as $name => $value) {
            // Who includes it may have said otherwise.
            $text .= \sprintf("defined('%s') || define('%1\$s', %s);\n", $name, \var_export($value, true));
        }

        return $text . <<<'PHP'

            // Hooks that stand before WordPress's own (WP_Hook::build_preinitialized_hooks). Other sites answer nothing:
            // WordPress warns of a request that fails, as it must without a network, but not of one that was refused.
            $GLOBALS['wp_filter']['pre_http_request'][10]['lab'] = [
                'accepted_args' => 3,
                'function' => static fn($answer, $arguments, $url) => parse_url($url, PHP_URL_HOST) === parse_url(get_option('siteurl'), PHP_URL_HOST)
                    ? $answer
                    : ['headers' => [], 'body' => '', 'response' => ['code' => 503, 'message' => 'No network here'], 'cookies' => [], 'filename' => null],
            ];

            PHP
            . $this->reporting()
            . <<<'PHP'

            $table_prefix = 'wp_';

            defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');

            require_once ABSPATH . 'wp-settings.php';

            PHP;
    }

    /** WordPress turns everything on when it debugs, unless asked not to; then the rest of it is done here. */
    private function reporting(): string
    {
        return $this->errors === \E_ALL ? '' : <<<'PHP'

            $GLOBALS['wp_filter']['enable_wp_debug_mode_checks'][10]['lab'] = ['accepted_args' => 0, 'function' => static fn() => false];
            if (WP_DEBUG_DISPLAY !== null) {
                ini_set('display_errors', (string) (int) WP_DEBUG_DISPLAY);
            }
            ini_set('log_errors', '1');
            ini_set('error_log', WP_DEBUG_LOG);

            PHP;
    }
}
