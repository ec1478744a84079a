<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Lab\Installation;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Context;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\ApacheServer;
use Larder\Lab\Service\Command;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\Processes;
use Larder\Lab\Service\RedisServer;
use Larder\Lab\Service\Server;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Service\VarnishServer;
use Larder\Lab\Subject\LarderExtension;
use Larder\Lab\Subject\WebSubjects;

/**
 * The web servers of the scenarios `fpm`, `requests`, `pages`, `counters`, `queues` and `laravel`: one php-fpm for all subjects, and for each a web server with a directory
 * of its own, brought up when it is first asked for and there until the run ends.
 */
final class Stand
{
    public const WORKERS = 4;

    // A script is kept by OPcache from its first request on, not from two seconds after it was written.
    private const INI = ['opcache.enable' => 1, 'opcache.revalidate_freq' => 60, 'opcache.file_update_protection' => 0, 'apc.shm_size' => '64M', 'expose_php' => 0, 'display_errors' => 0, 'log_errors' => 1];

    private const GZIP = ['gzip on;', 'gzip_comp_level 6;', 'gzip_proxied any;', 'gzip_vary on;', 'gzip_types text/plain;'];

    private const APACHE_FILE = [
        'ForceType "text/html; charset=utf-8"', 'Header set Cache-Control "public, s-maxage=3600, max-age=60"', 'Header merge Vary Accept-Encoding', 'RewriteEngine On',
        'RewriteCond %{HTTP:Accept-Encoding} gzip', 'RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI}.gz -f', 'RewriteRule ^(.*)$ $1.gz [L]',
        "<FilesMatch \"\\.gz$\">\nHeader set Content-Encoding gzip\n</FilesMatch>",
    ];

    private const APACHE_CACHE = ['CacheEnable disk /', 'CacheHeader on', 'CacheQuickHandler on', 'AddOutputFilterByType DEFLATE text/html'];

    /** What Varnish does by itself, with compression and a word on where a page came from. */
    private const VCL = <<<'VCL'
        sub vcl_backend_response { set beresp.do_gzip = true; }
        sub vcl_deliver { if (obj.hits > 0) { set resp.http.X-Cache = "HIT"; } }
        VCL;

    private ?PhpFpmServer $fpm = null;
    private ?Directory $directory = null;

    /** @var array<string, Server> by scenario and subject: what is asked */
    private array $servers = [];

    /** @var array<string, Directory> by scenario and subject: what it serves */
    private array $roots = [];

    /** @var array<string, NginxServer> those behind Varnish */
    private array $behind = [];

    /** The address of a subject's site: "http://127.0.0.1:8080". */
    public function url(string $scenario, Subject $subject, Context $context): string
    {
        $server = $this->servers["$scenario/$subject->name"] ??= $this->make($scenario, $subject, $context);

        return 'http://' . \implode(':', $server->address());
    }

    /**
     * The processes that work for a subject: the web server, php-fpm, and what it asks.
     *
     * @return list<int>
     */
    public function pids(string $scenario, Subject $subject, Context $context): array
    {
        $service = $subject->service === null ? null : $context->services->get($subject->service);

        $name = "$scenario/$subject->name";

        return [...Processes::of($this->servers[$name]->pid()), ...isset($this->behind[$name]) ? [$this->behind[$name]->pid()] : [], ...$this->fpm?->workers() ?? [], ...$service?->pids() ?? []];
    }

    /** The directory of a subject's scripts, once it has an address. */
    public function root(string $scenario, Subject $subject): Directory
    {
        return $this->roots["$scenario/$subject->name"];
    }

    /** A file for a script that needs one. */
    public function file(string $name, Context $context): string
    {
        return $this->directory($context)->file($name);
    }

    /** What went wrong on the servers' side, for a client that got a wrong answer. */
    public function complaints(): string
    {
        return \implode('', \array_map(static fn(Server $server): string => $server instanceof NginxServer || $server instanceof ApacheServer ? $server->log() : $server->lastWords(), $this->servers)) . $this->fpm?->log();
    }

    private function make(string $scenario, Subject $subject, Context $context): Server
    {
        $account = Account::own();
        $site = $this->directory($context)->sub("$scenario-$subject->engine")->open();
        $root = $this->roots["$scenario/$subject->name"] = $site->sub('www')->open();
        $fpm = $this->fpm ??= $this->fpm($context, $account);
        Script::write($root, $subject, self::dsn($subject, $site, $context), self::service($subject, $context));
        $zone = "larder$subject->engine";
        $cache = "fastcgi_cache_path {$site->file('cache')} levels=1:2 keys_zone=$zone:16m inactive=1h max_size=256m;";
        [$http, $directives] = match ($subject->parameters['server'] ?? '') {
            'file' => [[], ['default_type "text/html; charset=utf-8";', 'types { }', 'gzip_static on;', 'gzip_vary on;', 'add_header Cache-Control "public, s-maxage=3600, max-age=60";', 'etag on;']],
            'cache' => [[$cache], [...self::GZIP, "fastcgi_cache $zone;", 'fastcgi_cache_key $scheme$host$request_uri$http_accept_encoding;', 'add_header X-Cache $upstream_cache_status;']],
            'cache-lock' => [[$cache], [...self::GZIP, "fastcgi_cache $zone;", 'fastcgi_cache_lock on;', 'fastcgi_cache_key $scheme$host$request_uri$http_accept_encoding;', 'add_header X-Cache $upstream_cache_status;']],
            // Each request goes on to its end, and is in the log with what php-fpm said.
            'counted' => [["log_format answered '\$request_uri \$upstream_status';"], ["access_log $root->path/" . Audit::LOG . ' answered buffer=64k flush=100ms;', 'fastcgi_ignore_client_abort on;']],
            default => [[], $subject->parameters['script'] === 'application' ? self::GZIP : []],
        };
        $nginx = static fn(): NginxServer => new NginxServer($site, $account, $root->path, $fpm->socket(), ['fastcgi_buffers 32 16k;', 'fastcgi_busy_buffers_size 64k;', ...$directives], $http);
        if (($subject->parameters['server'] ?? '') === 'varnish') {
            $backend = $this->behind["$scenario/$subject->name"] = $nginx();
            $backend->start();
            $server = new VarnishServer($site, '127.0.0.1', (int) $backend->address()['port'], self::VCL);
        } elseif ($subject->engine === WebSubjects::NGINX) {
            $server = new NginxServer($site, $account, $root->path, $fpm->socket(), [], [], self::printed('nginx', $root) . "\nlocation @php {\n{php}\nfastcgi_param HTTP_HOST \$http_host;\nfastcgi_param SCRIPT_FILENAME $root->path/index.php;\n}\n");
        } elseif ($subject->engine === WebSubjects::APACHE) {
            $server = $this->apache($site, $root, $fpm, [self::printed('apache', $root)]);
        } elseif ($subject->engine === WebSubjects::APACHE_FILE) {
            $server = $this->apache($site, $root, $fpm, self::APACHE_FILE);
        } elseif ($subject->engine === 'apache-cache') {
            $store = $site->sub('cache')->path;
            Account::ofServers()->receive($store);
            $server = $this->apache($site, $root, $fpm, ["CacheRoot $store", ...self::APACHE_CACHE], ['cache', 'cache_disk', 'deflate']);
        } else {
            $server = $nginx();
        }
        $server->start();
        $context->services->tell($server, $fpm);

        return $server;
    }

    /** The configuration that an owner prints. */
    private static function printed(string $server, Directory $root): string
    {
        $command = Command::run([\PHP_BINARY, Installation::library() . '/bin/larder', 'page:config', $server, "--root=$root->path", "--static=$root->path-pages", '--options={}', '--dsn=memory://']);

        return $command->succeeded ? $command->output : throw new ServiceFailure("bin/larder page:config fails: $command->errors$command->output");
    }

    /**
     * @param list<string> $directives
     * @param list<string> $modules
     */
    private function apache(Directory $site, Directory $root, PhpFpmServer $fpm, array $directives, array $modules = []): ApacheServer
    {
        // Apache refuses to work as root, and php-fpm's directory is this user's alone.
        \chmod($fpm->socket(), 0o666);

        return new ApacheServer($site, Account::ofServers(), $root->path, $fpm->socket(), $directives, $modules);
    }

    private function fpm(Context $context, Account $account): PhpFpmServer
    {
        $fpm = new PhpFpmServer($this->directory($context), $account, self::WORKERS, LarderExtension::ini() + self::INI + ['larder.segment' => $context->services->memory()->file('web') . '/segment']);
        $fpm->start();

        return $fpm;
    }

    private function directory(Context $context): Directory
    {
        return $this->directory ??= $context->services->directory()->open()->sub('web')->open();
    }

    private static function dsn(Subject $subject, Directory $site, Context $context): string
    {
        $dsn = (string) ($subject->parameters['dsn'] ?? '');
        if (\str_contains($dsn, '{directory}')) {
            $dsn = \str_replace('{directory}', $site->sub('store')->path, $dsn);
        }
        foreach (self::service($subject, $context) as $name => $part) {
            $dsn = \str_replace("{{$name}}", (string) $part, $dsn);
        }

        return $dsn;
    }

    /** @return array<string, string|int> */
    private static function service(Subject $subject, Context $context): array
    {
        $service = $subject->service === null ? null : $context->services->get($subject->service);
        if ($service instanceof RedisServer && !isset($service->address()['socket'])) {
            throw new ServiceFailure('Redis has no socket.');
        }

        return $service?->address() ?? [];
    }
}
