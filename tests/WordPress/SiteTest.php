<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\Process;
use Larder\WordPress\Site;
use PHPUnit\Framework\TestCase;

/** What a site's keys begin with: another text for another site, the same for all servers of one. */
final class SiteTest extends TestCase
{
    private const SITE = ['DB_NAME' => 'wordpress', 'AUTH_KEY' => 'salt', 'DB_HOST' => 'db.example.org', 'LARDER_DSN' => 'redis://127.0.0.1'];

    public function testACopyOfASiteOnAnotherDatabaseServerHasOtherKeys(): void
    {
        $prefix = $this->prefix([]);
        foreach ([['DB_HOST' => 'staging.example.org'], ['DB_HOST' => 'localhost'], ['DB_HOST' => 'db.example.org:3307'], ['LARDER_DB_HOST' => 'other'], ['LARDER_DSN' => 'memcached://a', 'DB_HOST' => 'localhost'],
            ['DB_NAME' => 'copy'], ['AUTH_KEY' => 'pepper'], ['WP_CACHE_KEY_SALT' => 'x']] as $other) {
            self::assertNotSame($prefix, $this->prefix($other), (string) \json_encode($other));
        }
        foreach ([['DB_HOST' => 'DB.example.org.:3306'], ['DB_HOST' => 'p:db.example.org'], ['DB_HOST' => 'replica', 'LARDER_DB_HOST' => 'db.example.org'], ['LARDER_DSN' => 'memcached://a']] as $same) {
            self::assertSame($prefix, $this->prefix($same), (string) \json_encode($same));
        }
    }

    public function testOnThisMachineTheDirectoryTellsSitesApart(): void
    {
        $local = ['LARDER_DSN' => 'sqlite:///var/cache/site'];
        self::assertSame($this->prefix($local), $this->prefix(['DB_HOST' => 'localhost'] + $local));
        self::assertSame($this->prefix($local), $this->prefix(['LARDER_DSN' => '']));
        self::assertNotSame($this->prefix($local), $this->prefix(['LARDER_DSN' => 'sqlite:///var/cache/site?far=redis://a']));
    }

    public function testOneHostHasOneName(): void
    {
        foreach ([
            'localhost' => ['', 'localhost', 'LOCALHOST:3306', '127.0.0.1', '127.0.1.1:3306', '::1', '[::1]', '[::1]:3306', 'p:localhost', 'localhost.', ' localhost '],
            'localhost:3307' => ['127.0.0.1:3307', '[::1]:3307', ':3307'],
            'localhost:/run/mysqld/mysqld.sock' => ['localhost:/var/run/mysqld/mysqld.sock', ':/run/mysqld/mysqld.sock'],
            'db.example.org' => ['DB.Example.org:3306', 'p:db.example.org.', 'db.example.org.:3306', 'db.example.org:'],
            'localhost.example.org' => ['localhost.example.org'],
            'fd00::7' => ['[fd00::7]', '[FD00::7]:3306'],
        ] as $one => $names) {
            foreach ($names as $name) {
                self::assertSame($one, Site::host($name), $name);
            }
        }
    }

    /** @param array<string, string> $constants */
    private function prefix(array $constants): string
    {
        $code = 'foreach (json_decode($argv[1], true) as $name => $value) { define($name, $value); }'
            . '$table_prefix = "wp_"; echo Larder\WordPress\Site::current()->prefix();';

        return Process::snippet($code, [(string) \json_encode($constants + self::SITE)])->output();
    }
}
