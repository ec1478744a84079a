<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

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
        $template = "$cache/{$this->key()}";
        $lock = \fopen("$template.lock", 'c');
        if ($lock === false || !\flock($lock, \LOCK_EX)) {
            throw new ServiceFailure("Cannot lock $template.lock.");
        }
        try {
            if (!\is_dir($template)) {
                // Whoever was killed here has left it.
                Command::run(['rm', '-rf', "$template.new"]);
                $this->install($directory, "$template.new");
                \rename("$template.new", $template);
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

    private function key(): string
    {
        $database = Command::run(['mariadbd', '--version'])->output;

        return $this->release->version . '-' . \substr(\hash('sha256', \serialize([
            $this->release->path, $database, \PHP_VERSION, $this->options->sites, \hash_file('sha256', __FILE__),
            \hash_file('sha256', (string) (new \ReflectionClass(MariaDbServer::class))->getFileName()),
        ])), 0, 12);
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
            $line->run('flush_rewrite_rules(false);', self::HOST);
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
