<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** Apache on a port of the loopback, before a php-fpm: files as they are, everything else to index.php. */
final class ApacheServer extends Server
{
    protected const LOG = 'error.log';

    private const MODULES = '/usr/lib/apache2/modules';

    /** Those that every site of Debian's has, and what passes requests to php-fpm. */
    private const LOADED = ['mpm_event', 'authz_core', 'mime', 'dir', 'alias', 'setenvif', 'filter', 'headers', 'rewrite', 'proxy', 'proxy_fcgi'];

    /**
     * @param string       $root       what it serves
     * @param string       $fpm        php-fpm's socket
     * @param list<string> $directives further ones of the server
     * @param list<string> $modules    further ones that it loads, as "cache_disk"
     */
    public function __construct(
        Directory $directory,
        private readonly Account $account,
        private readonly string $root,
        private readonly string $fpm,
        private readonly array $directives = [],
        private readonly array $modules = [],
    ) {
        parent::__construct($directory, 'apache', 'apache2', isMaster: true);
    }

    /**
     * Its processes, the one that listens and those that answer.
     *
     * @return list<int>
     */
    public function workers(): array
    {
        return Processes::of($this->pid());
    }

    protected function arguments(int $port): array
    {
        $home = $this->home->open()->path;
        $load = '';
        foreach ([...self::LOADED, ...$this->modules] as $module) {
            $load .= "LoadModule {$module}_module " . self::MODULES . "/mod_$module.so\n";
        }
        $user = \posix_geteuid() === 0 ? "User {$this->account->name}\nGroup #{$this->account->group}" : '';
        $directives = \implode("\n", $this->directives);
        \file_put_contents("$home/apache.conf", <<<CONF
            ServerRoot $home
            ServerName 127.0.0.1
            Listen 127.0.0.1:$port
            PidFile $home/pid
            ErrorLog $home/error.log
            LogLevel warn
            ServerTokens Min
            $load
            $user
            # More threads than connections come: a process whose threads are all busy closes the connections that it keeps.
            StartServers 8
            ServerLimit 8
            ThreadLimit 128
            ThreadsPerChild 128
            MaxRequestWorkers 1024
            MinSpareThreads 1024
            MaxSpareThreads 1024
            MaxKeepAliveRequests 0
            TypesConfig /etc/mime.types
            DocumentRoot $this->root
            DirectoryIndex index.html index.php
            FallbackResource /index.php
            <Directory $this->root>
                Require all granted
                AllowOverride None
                Options FollowSymLinks
            </Directory>
            <FilesMatch "\\.php$">
                SetHandler "proxy:unix:$this->fpm|fcgi://localhost"
            </FilesMatch>
            $directives

            CONF);
        $this->account->receive($home);

        return ['-D', 'FOREGROUND', '-f', "$home/apache.conf"];
    }

    protected function question(): string
    {
        return "OPTIONS * HTTP/1.0\r\n\r\n";
    }

    /** It names no process; but while this one runs, no other listens there. */
    protected function understand(string $answer): ?array
    {
        return \preg_match('~^Server: (Apache)/(\S+)~m', $answer, $found) === 1 ? [$this->pid(), "$found[1] $found[2]"] : null;
    }
}
