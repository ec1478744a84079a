<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\WordPress\Browser;
use Larder\Lab\WordPress\Site;

/** Another server of a site: a php-fpm and a web server of its own, which share nothing with the first but files, database and Redis. */
final class SecondServer
{
    public readonly Browser $browser;

    private readonly Directory $directory;
    private readonly PhpFpmServer $fpm;
    private readonly NginxServer $nginx;

    /** @param array<string, string|int|float> $ini */
    public function __construct(Site $site, array $ini = [])
    {
        $this->directory = Directory::temporary()->open();
        // Whoever asks either of them asks for the same host, as behind a balancer.
        ['host' => $host, 'port' => $port] = $site->nginx->address();
        $prepend = $this->directory->file('host.php');
        \file_put_contents($prepend, "<?php \$_SERVER['HTTP_HOST'] = '$host:$port'; \$_SERVER['SERVER_PORT'] = '$port';");
        $this->fpm = new PhpFpmServer($this->directory, $site->account, 2, ['auto_prepend_file' => $prepend] + $ini + $site->options->ini());
        $this->fpm->start();
        $this->nginx = new NginxServer($this->directory, $site->account, $site->root, (string) $this->fpm->address()['socket']);
        $this->nginx->start();
        $this->browser = new Browser('http://' . \implode(':', $this->nginx->address()));
    }

    public function __destruct()
    {
        $this->nginx->stop();
        $this->fpm->stop();
        $this->directory->remove();
    }
}
