<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** Varnish on a port of the loopback, with its memory for pages, before another web server. */
final class VarnishServer extends Server
{
    /** Answered by itself. */
    private const VERSION = '/larder-lab-version';

    /** Megabytes of pages. */
    private const MEMORY = 128;

    /**
     * @param string $host of the server behind it
     * @param string $vcl  what stands beside the backend "default": subroutines
     */
    public function __construct(
        Directory $directory,
        private readonly string $host,
        private readonly int $port,
        private readonly string $vcl = '',
    ) {
        parent::__construct($directory, 'varnish', 'varnishd', 'varnish', isMaster: true);
    }

    protected function arguments(int $port): array
    {
        $home = $this->home->open()->path;
        $version = self::VERSION;
        \file_put_contents("$home/lab.vcl", <<<VCL
            vcl 4.1;
            backend default { .host = "$this->host"; .port = "$this->port"; }
            sub vcl_recv { if (req.url == "$version") { return (synth(200, "Varnish")); } }
            $this->vcl

            VCL);

        return ['-F', '-n', "$home/work", '-a', "127.0.0.1:$port", '-f', "$home/lab.vcl", '-s', 'malloc,' . self::MEMORY . 'm', '-j', 'none', '-T', 'none'];
    }

    protected function question(): string
    {
        return 'GET ' . self::VERSION . " HTTP/1.0\r\n\r\n";
    }

    /** It names no process; but while this one runs, no other listens there. */
    protected function understand(string $answer): ?array
    {
        return \preg_match('~^HTTP/1\.[01] 200 Varnish~', $answer) === 1 ? [$this->pid(), 'Varnish ' . self::release()] : null;
    }

    private static function release(): string
    {
        $said = Command::run(['varnishd', '-V']);

        return \preg_match('/varnish-(\d[\d.]*)/', $said->output . $said->errors, $found) === 1 ? $found[1] : '';
    }
}
