<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

use Larder\Lab\Installation;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Server;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Service\Signals;

/**
 * The suite's client asks a private nginx, behind it are php-fpm, the page cache, the Forwarder and the suite's origin.
 *
 * nginx and php-fpm add, hide and change as little as they can be told to. All of it goes with stop(), with this object,
 * and with the process, however that ends.
 */
final class Rig
{
    /** The suite's client runs a hundred tests at a time. */
    private const WORKERS = 16;

    private const PHP = [
        // PHP adds nothing to a response, and leaves a request's body alone.
        'default_mimetype' => '', 'default_charset' => '', 'expose_php' => 0, 'enable_post_data_reading' => 0,
        'display_errors' => 0, 'log_errors' => 1,
        // Says the status at 200 too, which web servers otherwise take for 302 where there is a Location.
        'cgi.nph' => 1,
    ];

    private const NGINX = [
        'underscores_in_headers on;', 'ignore_invalid_headers off;', 'large_client_header_buffers 8 32k;',
        'if_modified_since off;', 'etag off;', 'max_ranges 0;', 'gzip off;',
        'fastcgi_buffer_size 64k;', 'fastcgi_buffers 16 64k;', 'fastcgi_busy_buffers_size 128k;', 'fastcgi_next_upstream off;',
        'fastcgi_ignore_headers X-Accel-Redirect X-Accel-Expires X-Accel-Limit-Rate X-Accel-Buffering X-Accel-Charset;',
        'fastcgi_pass_header X-Accel-Redirect;', 'fastcgi_pass_header X-Accel-Expires;', 'fastcgi_pass_header X-Accel-Limit-Rate;',
        'fastcgi_pass_header X-Accel-Buffering;', 'fastcgi_pass_header X-Accel-Charset;',
    ];

    private readonly Directory $directory;
    private readonly OriginServer $origin;
    private readonly PhpFpmServer $fpm;
    private readonly NginxServer $nginx;

    /** @var list<Server> those started */
    private array $servers = [];

    /**
     * @param ?string              $dsn     the page cache's store; SQLite in the rig's directory by default
     * @param array<string, mixed> $options the page cache's
     * @param bool                 $cached  whether there is a page cache
     *
     * @throws ServiceFailure
     */
    public function __construct(private readonly Suite $suite, ?string $dsn = null, array $options = [], bool $cached = true)
    {
        // Not the account of real sites: that may be unable to read the libraries, which a developer has installed.
        $account = Account::own();
        $this->directory = Signals::held(static fn(): Directory => Directory::temporary())->open();
        $itself = \WeakReference::create($this);
        // A fatal error calls no destructors.
        \register_shutdown_function(static fn() => $itself->get()?->stop());
        try {
            $root = $this->directory->sub('www')->open();
            $store = $this->directory->sub('store');
            $this->origin = new OriginServer($this->directory, $suite);
            $this->start($this->origin);
            $this->fpm = new PhpFpmServer($this->directory, $account, self::WORKERS, self::PHP);
            $this->start($this->fpm);
            \file_put_contents($root->file('index.php'), self::script($cached, $dsn ?? 'sqlite://' . $store->path . '?timeout=10', $options, 'tcp://' . \implode(':', $this->origin->address())));
            $this->nginx = new NginxServer($this->directory, $account, $root->path, $this->fpm->socket(), self::NGINX);
            $this->start($this->nginx);
            $this->check();
        } catch (\Throwable $failure) {
            $this->stop();
            throw $failure;
        }
    }

    public function __destruct()
    {
        $this->stop();
    }

    public function base(): string
    {
        return 'http://' . \implode(':', $this->nginx->address());
    }

    /** Runs one test and returns all that the suite says of it. */
    public function dump(string $id): string
    {
        $before = \strlen($this->origin->log());
        $client = $this->suite->dump($this->base(), $id);

        return "$client\n" . \substr($this->origin->log(), $before);
    }

    /** What php-fpm and nginx complained of. */
    public function complaints(): string
    {
        return $this->fpm->log() . $this->nginx->log();
    }

    public function stop(): void
    {
        if ($this->directory->isOwned()) {
            Signals::held(function (): void {
                foreach (\array_reverse($this->servers) as $server) {
                    $server->stop();
                }
                $this->directory->remove();
            });
        }
    }

    /** @param array<string, mixed> $options */
    private static function script(bool $cached, string $dsn, array $options, string $origin): string
    {
        $autoload = \var_export(Installation::packages() . '/autoload.php', true);
        $start = $cached
            ? \sprintf('(new Larder\Page\PageCache(Larder\Cache::open(%s), %s))->start();', \var_export($dsn, true), \var_export($options, true))
            : '';
        $forward = \sprintf('(new %s(%s))->answer();', Forwarder::class, \var_export($origin, true));

        return "<?php\nrequire $autoload;\n$start\n$forward\n";
    }

    private function start(Server $server): void
    {
        $this->servers[] = $server;
        $server->start();
    }

    /** The origin refuses a GET there, and this tells that the whole way is open. */
    private function check(): void
    {
        $answer = Place::answer('tcp://' . \implode(':', $this->nginx->address()), "GET /config/check HTTP/1.0\r\n\r\n");
        if (!\str_starts_with($answer, 'HTTP/1.1 405')) {
            throw new ServiceFailure('No request comes through to the origin: ' . \substr(\trim($answer . $this->complaints()), 0, 800));
        }
    }
}
