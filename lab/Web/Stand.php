<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Context;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\RedisServer;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Subject\LarderExtension;

/**
 * The web servers of the scenarios `fpm` and `pages`: one php-fpm for all subjects, and for each an nginx with a directory
 * of its own, brought up when it is first asked for and there until the run ends.
 */
final class Stand
{
    public const WORKERS = 4;

    private const INI = ['opcache.enable' => 1, 'opcache.revalidate_freq' => 60, 'apc.shm_size' => '64M', 'expose_php' => 0, 'display_errors' => 0, 'log_errors' => 1];

    private const GZIP = ['gzip on;', 'gzip_comp_level 6;', 'gzip_proxied any;', 'gzip_vary on;', 'gzip_types text/plain;'];

    private ?PhpFpmServer $fpm = null;
    private ?Directory $directory = null;

    /** @var array<string, NginxServer> by subject */
    private array $servers = [];

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

        return [$this->servers["$scenario/$subject->name"]->pid(), ...$this->fpm?->workers() ?? [], ...$service?->pids() ?? []];
    }

    /** A file for whoever needs one. */
    public function file(string $name, Context $context): string
    {
        return $this->directory($context)->file($name);
    }

    /** What went wrong on the servers' side, for whoever got a wrong answer. */
    public function complaints(): string
    {
        return \implode('', \array_map(static fn(NginxServer $server): string => $server->log(), $this->servers)) . $this->fpm?->log();
    }

    private function make(string $scenario, Subject $subject, Context $context): NginxServer
    {
        $account = Account::own();
        $site = $this->directory($context)->sub("$scenario-$subject->engine")->open();
        $root = $site->sub('www')->open();
        $fpm = $this->fpm ??= $this->fpm($context, $account);
        Script::write($root, $subject, self::dsn($subject, $site, $context), self::service($subject, $context));
        $zone = "larder$subject->engine";
        $cache = "fastcgi_cache_path {$site->file('cache')} levels=1:2 keys_zone=$zone:16m inactive=1h max_size=256m;";
        [$http, $directives] = match ($subject->parameters['server'] ?? '') {
            'file' => [[], ['default_type "text/html; charset=utf-8";', 'types { }', 'gzip_static on;', 'gzip_vary on;', 'add_header Cache-Control "public, s-maxage=3600, max-age=60";', 'etag on;']],
            'cache' => [[$cache], [...self::GZIP, "fastcgi_cache $zone;", 'fastcgi_cache_key $scheme$host$request_uri$http_accept_encoding;', 'add_header X-Cache $upstream_cache_status;']],
            'cache-lock' => [[$cache], [...self::GZIP, "fastcgi_cache $zone;", 'fastcgi_cache_lock on;', 'fastcgi_cache_key $scheme$host$request_uri$http_accept_encoding;', 'add_header X-Cache $upstream_cache_status;']],
            default => [[], $subject->parameters['script'] === 'application' ? self::GZIP : []],
        };
        $server = new NginxServer($site, $account, $root->path, $fpm->socket(), ['fastcgi_buffers 32 16k;', 'fastcgi_busy_buffers_size 64k;', ...$directives], $http);
        $server->start();
        $this->tell($server, $fpm, $context);

        return $server;
    }

    private function fpm(Context $context, Account $account): PhpFpmServer
    {
        $fpm = new PhpFpmServer($this->directory($context), $account, self::WORKERS, LarderExtension::ini() + self::INI + ['larder.segment' => $context->services->memory()->file('web-segment')]);
        $fpm->start();

        return $fpm;
    }

    private function tell(NginxServer $server, PhpFpmServer $fpm, Context $context): void
    {
        foreach ([$server, $fpm] as $each) {
            [$program, $version] = \explode(' ', $each->version() . ' ', 2);
            $context->services->tell([$program => \trim($version)]);
        }
    }

    private function directory(Context $context): Directory
    {
        return $this->directory ??= $context->services->directory()->sub('web')->open();
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
