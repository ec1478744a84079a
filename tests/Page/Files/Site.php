<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Cache;
use Larder\Console\Application;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\ApacheServer;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\Server;
use Larder\Lab\Service\VarnishServer;
use Symfony\Component\Console\Tester\ApplicationTester;

/**
 * A site behind a real web server with the configuration that `page:config` prints, and php-fpm behind it. The web server
 * is another user than PHP, where the tests can have another one.
 */
final class Site
{
    public readonly string $static;
    public readonly string $dsn;
    public readonly string $configuration;

    private readonly Directory $directory;
    private readonly PhpFpmServer $fpm;
    private readonly Server $server;
    private ?Server $behind = null;

    /**
     * @param string               $kind    nginx, apache, or varnish: before an nginx that sends no files
     * @param array<string, mixed> $options of the page cache, besides `static`
     */
    public function __construct(private readonly string $kind, array $options = [], ?string $dsn = null)
    {
        $this->directory = Directory::temporary()->open();
        $root = $this->directory->sub('www')->open();
        \file_put_contents($root->file('style.css'), 'p { }');
        \chmod($root->file('style.css'), 0o644);
        \chmod($root->path, 0o755);
        $this->static = $this->directory->file('static');
        $this->dsn = $dsn ?? 'sqlite://' . $this->directory->file('store');
        \file_put_contents($this->directory->file('log'), '');
        if ($kind !== 'varnish') {
            $options['static'] = $this->static;
        }
        \file_put_contents($root->file('index.php'), \sprintf(
            "<?php\nrequire %s;\n(new Larder\\Page\\PageCache(Larder\\Cache::open(%s), %s))->start();\n\$directory = %s;\n%s",
            \var_export(\dirname(__DIR__, 3) . '/vendor/autoload.php', true),
            \var_export($this->dsn, true),
            \sprintf('json_decode(file_get_contents(%s), true)', \var_export($this->directory->file('options'), true)),
            \var_export($this->directory->path, true),
            <<<'PHP'
                file_put_contents("$directory/log", $_SERVER['REQUEST_URI'] . "\n", FILE_APPEND);
                $response = is_file("$directory/response") ? json_decode(file_get_contents("$directory/response"), true) : [];
                http_response_code($response['status'] ?? 200);
                header('Content-Type: text/html; charset=utf-8');
                foreach ($response['header'] ?? ['Cache-Control: max-age=3600'] as $line) {
                    header($line);
                }
                echo strtr($response['text'] ?? 'page', ['{host}' => $_SERVER['HTTP_HOST']]) . ' of ' . $_SERVER['REQUEST_URI'] . ' for ' . ($_COOKIE['session'] ?? 'all') . str_repeat(' <p>', 200);
                PHP,
        ));
        \file_put_contents($this->directory->file('options'), \json_encode($options, \JSON_THROW_ON_ERROR));
        $this->configuration = self::printed($kind, $root->path, $this->static, $options);
        $this->fpm = new PhpFpmServer($this->directory, Account::own(), 4, ['opcache.enable' => 0, 'display_errors' => 0, 'log_errors' => 1]);
        $this->fpm->start();
        $account = Account::ofServers();
        $locations = $kind === 'nginx' ? $this->configuration : "location / {\ntry_files /none @php;\n}\n";
        $server = $kind !== 'apache'
            ? new NginxServer($this->directory, $account, $root->path, $this->fpm->socket(), ['access_log off;'], [], "$locations\nlocation @php {\n{php}\nfastcgi_param HTTP_HOST \$http_host;\nfastcgi_param SCRIPT_FILENAME {$root->path}/index.php;\n}\n")
            : new ApacheServer($this->directory, $account, $root->path, $this->fpm->socket(), [$this->configuration]);
        \chmod($this->fpm->socket(), 0o666);
        \chmod(\dirname($this->fpm->socket()), 0o711);
        $server->start();
        if ($kind === 'varnish') {
            $this->behind = $server;
            // The laboratory's server names its own backend.
            $server = new VarnishServer($this->directory, (string) $server->address()['host'], (int) $server->address()['port'], (string) \preg_replace('/^vcl .*$|^backend [^}]*\}$/m', '', $this->configuration));
            $server->start();
            \file_put_contents($this->directory->file('options'), \json_encode(['proxies' => [\implode(':', $server->address())]] + $options, \JSON_THROW_ON_ERROR));
        }
        $this->server = $server;
    }

    public function __destruct()
    {
        $this->stop();
    }

    public function stop(): void
    {
        if (isset($this->server)) {
            $this->server->stop();
        }
        $this->behind?->stop();
        if (isset($this->fpm)) {
            $this->fpm->stop();
        }
        $this->directory->remove();
    }

    /** @param array<string, mixed> $options */
    public static function printed(string $kind, string $root, string $static, array $options = []): string
    {
        $larder = new Application();
        $larder->setAutoExit(false);
        $tester = new ApplicationTester($larder);
        $status = $tester->run(['page:config', 'server' => $kind, '--root' => $root, '--static' => $static, '--options' => (string) \json_encode($options, \JSON_FORCE_OBJECT), '--dsn' => 'memory://'], ['capture_stderr_separately' => true]);

        return $status === 0 ? $tester->getDisplay() : throw new \RuntimeException($tester->getErrorOutput() . $tester->getDisplay());
    }

    public function cache(): Cache
    {
        return Cache::open($this->dsn);
    }

    public function host(): string
    {
        return \implode(':', $this->server->address());
    }

    /** @param list<string> $header */
    public function answers(string $text, array $header = ['Cache-Control: max-age=3600'], int $status = 200): void
    {
        \file_put_contents($this->directory->file('response'), \json_encode(['text' => $text, 'header' => $header, 'status' => $status], \JSON_THROW_ON_ERROR));
    }

    /** @return list<string> the targets of the requests that the application has got */
    public function runs(): array
    {
        return \array_values(\array_filter(\explode("\n", (string) \file_get_contents($this->directory->file('log')))));
    }

    /**
     * @param list<string> $fields "Name: value"; a Host replaces the server's own
     *
     * @return array{int, array<string, string>, string} status, header by names in small letters, body
     */
    public function get(string $target, array $fields = [], string $method = 'GET'): array
    {
        \preg_grep('/^Host:/i', $fields) === [] && $fields[] = "Host: {$this->host()}";
        $socket = \stream_socket_client('tcp://' . $this->host(), $code, $message, 10.0);
        if ($socket === false) {
            throw new \RuntimeException("$this->kind cannot be reached: $message");
        }
        \stream_set_timeout($socket, 20);
        \fwrite($socket, "$method $target HTTP/1.1\r\n" . \implode("\r\n", $fields) . "\r\nConnection: close\r\n\r\n");
        $answer = (string) \stream_get_contents($socket);
        [$head, $body] = \explode("\r\n\r\n", $answer, 2) + [1 => ''];
        $header = [];
        foreach (\array_slice(\explode("\r\n", $head), 1) as $line) {
            [$name, $value] = \explode(':', $line, 2) + [1 => ''];
            $name = \strtolower($name);
            $header[$name] = (isset($header[$name]) ? "$header[$name], " : '') . \trim($value);
        }

        if (($header['transfer-encoding'] ?? '') === 'chunked') {
            for ($chunks = $body, $body = ''; \preg_match('/^([0-9a-f]+)\r\n/i', $chunks, $size) === 1 && \hexdec($size[1]) > 0; $chunks = \substr($chunks, \strlen($size[0]) + (int) \hexdec($size[1]) + 2)) {
                $body .= \substr($chunks, \strlen($size[0]), (int) \hexdec($size[1]));
            }
        }

        return [(int) \substr($head, 9, 3), $header, $body];
    }

    /**
     * Whether a file answers the request, and not PHP.
     *
     * @param list<string> $fields
     */
    public function isFile(string $target, array $fields = [], string $method = 'GET'): bool
    {
        return \str_contains($this->get($target, $fields, $method)[1]['cache-status'] ?? '', 'detail="file"');
    }

    /** @return list<int> the web server's processes */
    public function pids(): array
    {
        return [$this->server->pid(), ...$this->server instanceof ApacheServer ? $this->server->workers() : []];
    }

    public function complaints(): string
    {
        return ($this->server instanceof NginxServer || $this->server instanceof ApacheServer ? $this->server->log() : '') . $this->fpm->log();
    }
}
