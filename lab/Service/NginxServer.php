<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** nginx on a port of the loopback, before a php-fpm: files as they are, everything else to index.php. One process. */
final class NginxServer extends Server
{
    protected const LOG = 'error.log';

    /** Answered by itself, with its process id. */
    private const VERSION = '/larder-lab-version';

    private const LOCATIONS = <<<'CONF'
        location / {
            try_files $uri $uri/ /index.php?$args;
        }
        location ~ \.php$ {
            try_files $uri =404;
            {php}
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
        }
        CONF;

    /**
     * @param string       $root       what it serves
     * @param string       $fpm        php-fpm's socket
     * @param list<string> $directives further ones of the server, before its locations
     * @param list<string> $http       further ones before the server, {port} for its port
     * @param ?string      $locations  in the place of its own, {php} for what passes a request on to php-fpm
     */
    public function __construct(
        Directory $directory,
        private readonly Account $account,
        private readonly string $root,
        private readonly string $fpm,
        private readonly array $directives = [],
        private readonly array $http = [],
        private readonly ?string $locations = null,
    ) {
        parent::__construct($directory, 'nginx', 'nginx', prefix: $account->words());
    }

    protected function arguments(int $port): array
    {
        $home = $this->home->path;
        $directives = \implode("\n        ", $this->directives);
        $php = <<<CONF
            include /etc/nginx/fastcgi_params;
            # Debian's has the host without its port, lest a client say another; the last one counts.
            fastcgi_param HTTP_HOST \$host:\$server_port;
            fastcgi_pass unix:$this->fpm;
            fastcgi_read_timeout 120s;
            CONF;
        $locations = \str_replace('{php}', $php, $this->locations ?? self::LOCATIONS);
        $http = \str_replace(['{php}', '{port}'], [$php, (string) $port], \implode("\n    ", $this->http));
        $version = self::VERSION;
        \file_put_contents("$home/nginx.conf", <<<CONF
            daemon off;
            master_process off;
            pid $home/pid;
            error_log $home/error.log warn;
            events { worker_connections 1024; }
            http {
                include /etc/nginx/mime.types;
                default_type application/octet-stream;
                access_log off;
                sendfile on;
                client_max_body_size 64m;
                client_body_temp_path $home/client;
                fastcgi_temp_path $home/fastcgi;
                proxy_temp_path $home/proxy;
                scgi_temp_path $home/scgi;
                uwsgi_temp_path $home/uwsgi;
                $http
                server {
                    listen 127.0.0.1:$port default_server;
                    root $this->root;
                    server_name 127.0.0.1;
                    index index.php;
                    $directives
                    location = $version {
                        default_type text/plain;
                        return 200 "\$pid nginx/\$nginx_version\\n";
                    }
                    $locations
                }
            }

            CONF);
        $this->account->receive($home);

        return ['-p', $home, '-c', "$home/nginx.conf", '-e', "$home/error.log"];
    }

    protected function question(): string
    {
        return 'GET ' . self::VERSION . " HTTP/1.0\r\n\r\n";
    }

    protected function understand(string $answer): ?array
    {
        return \preg_match('~^(\d+) nginx/(\S+)$~m', $answer, $found) === 1 ? [(int) $found[1], "nginx $found[2]"] : null;
    }
}
