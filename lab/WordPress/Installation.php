<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Command;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\MariaDbServer;
use Larder\Lab\Service\ServiceFailure;

/**
 * The database of a site that was just installed, made once for each kind of site and kept as MariaDB's data.
 *
 * It is installed for a host that does not exist, which is then replaced by the real one: its port is another each time.
 */
final readonly class Installation
{
    public const DATABASE = 'wordpress';
    public const USER = 'admin';
    public const PASSWORD = 'larder lab';
    private const HOST = 'larder.invalid';

    public function __construct(
        private Options $options,
        private Release $release,
        private Account $account,
    ) {}

    /** The directory with MariaDB's data; made now if it is not there. */
    public function template(Directory $directory): string
    {
        $cache = Release::cache();
        \is_dir($cache) || \mkdir($cache, 0o755, true);
        $template = "$cache/{$this->name()}";
        $lock = \fopen("$template.lock", 'c+e');
        if ($lock === false || !\flock($lock, \LOCK_EX)) {
            throw new ServiceFailure("Cannot lock $template.lock.");
        }
        try {
            // The lock's file tells what the template was made from.
            if (\stream_get_contents($lock) !== $this->key() || !\is_dir($template)) {
                \ftruncate($lock, 0);
                // A process that was killed here has left the second.
                Command::run(['rm', '-rf', $template, "$template.new"]);
                $this->install($directory, "$template.new");
                \rename("$template.new", $template);
                \rewind($lock);
                \fwrite($lock, $this->key());
            }
        } finally {
            \fclose($lock);
        }

        return $template;
    }

    /** Puts the real host into a database that was made from the template. */
    public function move(MariaDbServer $database, string $host): void
    {
        $replace = static fn(string $table, string $column, string $where = '') => $database->query(
            \sprintf("UPDATE %s SET %s = REPLACE(%2\$s, '%s', '%s') %s", $table, $column, self::HOST, $host, $where),
            self::DATABASE,
        );
        foreach (\range(1, 1 + \count($this->options->sites ?? [])) as $number) {
            $prefix = $number === 1 ? 'wp_' : "wp_{$number}_";
            $replace("{$prefix}options", 'option_value', "WHERE option_name IN ('siteurl', 'home')");
            $replace("{$prefix}posts", 'guid');
        }
        if ($this->options->isNetwork()) {
            $replace('wp_blogs', 'domain');
            $replace('wp_site', 'domain');
            $replace('wp_sitemeta', 'meta_value', "WHERE meta_key = 'siteurl'");
        }
    }

    /** Of one kind of site, so that a newer one takes the place of the older. */
    private function name(): string
    {
        return \sprintf('%s-php%d.%d-%s', $this->release->version, \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION, \substr(\hash('sha256', \serialize([
            $this->release->path, $this->options->sites, $this->options->seed,
        ])), 0, 12));
    }

    /** Of all else that it depends on. */
    private function key(): string
    {
        $mariadb = Need::find(['mariadbd']);
        $files = [__FILE__, (string) (new \ReflectionClass(MariaDbServer::class))->getFileName()];

        return \serialize([
            $mariadb === null ? '' : Command::run([$mariadb, '--version'])->output,
            \array_map(static fn(string $file) => \hash_file('sha256', $file), $files),
        ]);
    }

    private function install(Directory $directory, string $to): void
    {
        $database = new MariaDbServer($directory);
        $home = $directory->sub('install')->open();
        try {
            $database->start();
            $database->query('CREATE DATABASE ' . self::DATABASE . ' CHARACTER SET utf8mb4');
            $root = $home->file('www');
            $this->release->copy($root);
            $options = new Options($this->options->version, $this->options->sites, errors: \E_ALL & ~\E_DEPRECATED);
            $configure = function (bool $network) use ($root, $options, $database): void {
                $configuration = Configuration::of($options, $database, '/dev/stderr', self::HOST, $network);
                \file_put_contents("$root/wp-config.php", $configuration->text());
            };
            $configure(false);
            $this->account->receive("$root/wp-config.php");
            $line = new CommandLine($this->account, $root, $options->ini());
            $line->run(\sprintf(self::SINGLE, \var_export(self::USER, true), \var_export(self::PASSWORD, true)), self::HOST, before: self::BEFORE);
            if ($this->options->isNetwork()) {
                $line->run(self::NETWORK, self::HOST, before: self::BEFORE);
                $configure(true);
                foreach ($this->options->sites ?? [] as $name) {
                    $line->run(\sprintf(self::SITE, \var_export($name, true)), self::HOST);
                }
            }
            $line->run('flush_rewrite_rules(false);' . $this->options->seed, self::HOST);
            $database->save($to);
        } finally {
            $database->stop();
            $home->remove();
        }
    }

    private const BEFORE = "define('WP_INSTALLING', true); define('WP_SITEURL', 'http://" . self::HOST . "');";

    /** With permalinks as every site has them; WordPress would try by a request whether they work. */
    private const SINGLE = <<<'PHP'
        require ABSPATH . 'wp-admin/includes/upgrade.php';
        add_filter('pre_option_permalink_structure', $links = static fn() => '/%%postname%%/');
        wp_install('Larder', %s, 'admin@example.org', true, '', %s);
        remove_filter('pre_option_permalink_structure', $links);
        update_option('permalink_structure', '/%%postname%%/');
        PHP;

    private const NETWORK = <<<'PHP'
        require ABSPATH . 'wp-admin/includes/upgrade.php';
        foreach ($wpdb->tables('ms_global') as $table => $name) {
            $wpdb->$table = $name;
        }
        install_network();
        $made = populate_network(1, $_SERVER['HTTP_HOST'], 'admin@example.org', 'Larder', '/', false);
        if (is_wp_error($made)) {
            throw new RuntimeException($made->get_error_message());
        }
        PHP;

    private const SITE = <<<'PHP'
        $made = wpmu_create_blog($_SERVER['HTTP_HOST'], '/' . %1$s . '/', 'Larder ' . %1$s, get_user_by('login', 'admin')->ID);
        if (is_wp_error($made)) {
            throw new RuntimeException($made->get_error_message());
        }
        PHP;
}
