<?php

declare(strict_types=1);

namespace Larder\Tests\Console\Fleet;

use Larder\System\MachineBoot;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\Checkout;
use Larder\Tests\Support\TemporaryDirectory;

/** A server of a test's own: a list of users, homes, a place for segments and one for temporary files. Needs root. */
final class Server
{
    public readonly string $root;
    private readonly TemporaryDirectory $directory;

    public function __construct()
    {
        $this->directory = new TemporaryDirectory('larder-fleet', \is_dir('/dev/shm') ? '/dev/shm' : null);
        $this->root = $this->directory->path;
        \chmod($this->root, 0o711);
        foreach (['home' => 0o711, 'shm' => 0o1777, 'tmp' => 0o1777, 'state' => 0o1777] as $name => $mode) {
            \mkdir("$this->root/$name");
            \chmod("$this->root/$name", $mode);
        }
        $this->directory->write('passwd', "root:x:0:0:root:$this->root/home/root:/bin/sh\n");
    }

    /** @return string the home */
    public function user(int $uid, string $name): string
    {
        $home = "$this->root/home/$name";
        \mkdir($home, 0o700);
        \chown($home, $uid);
        \file_put_contents("$this->root/passwd", "$name:x:$uid:$uid::$home:/bin/false\n", \FILE_APPEND);

        return $home;
    }

    public function deleteUsers(): void
    {
        \file_put_contents("$this->root/passwd", "root:x:0:0:root:$this->root/home/root:/bin/sh\n");
    }

    /** A file or directory of a user's. */
    public function put(int $uid, string $path, ?string $content, int $mode = 0o600): void
    {
        $content === null ? \mkdir($path) : \file_put_contents($path, $content);
        \chmod($path, $mode);
        \chown($path, $uid);
    }

    /** Code of Larder's that runs as that user. */
    public function as(int $uid, string $code): string
    {
        $child = Child::php($code, $uid, ['-d', "larder.state=$this->root/state/%u", '-d', "larder.segment=$this->root/shm/larder-%u/memory-of-running-php"]);

        return $child->output . $child->errors;
    }

    /** bin/larder fleet, as root or as somebody else. */
    public function fleet(string $options = '', ?int $uid = null): Child
    {
        return Child::run($this->command($options, $uid));
    }

    /** @return non-empty-list<string> */
    public function command(string $options = '', ?int $uid = null): array
    {
        $words = \var_export(\array_values(\array_filter(['larder', ...\explode(' ', $options)])), true);
        $code = 'ini_set("error_log", "/dev/stderr");'
            . '$command = new Larder\Console\FleetCommand(new Larder\System\ServerPolicy(' . \var_export("$this->root/policy.ini", true) . '), ' . \var_export("$this->root/passwd", true) . ', ' . \var_export("$this->root/shm", true) . ', ' . \var_export(["$this->root/tmp"], true) . ');'
            . '$application = new Larder\Console\Application(); $application->add($command); $application->setAutoExit(false);'
            . "\$words = $words; array_splice(\$words, 1, 0, ['fleet']);"
            . 'exit($application->run(new Symfony\Component\Console\Input\ArgvInput($words)));';
        $settings = ['-d', "larder.state=$this->root/state/%u", '-d', 'display_errors=stderr', '-d', 'error_reporting=-1', '-d', 'memory_limit=256M'];
        // Symfony's classes cannot all be loaded beforehand, so the other user gets a process that begins as he.
        $autoload = $uid === null ? \dirname(__DIR__, 3) . '/vendor/autoload.php' : Checkout::copy() . '/vendor/autoload.php';

        // ext/with has told all PHPs to load the checkout's extension, and that user may not be able to read it.
        $directories = (string) \getenv('PHP_INI_SCAN_DIR');
        $ours = \dirname(__DIR__, 3) . '/build/with-ext';
        $environment = $uid !== null && \str_contains($directories, $ours) ? ['PHP_INI_SCAN_DIR=' . \str_replace($ours, Checkout::extension(), $directories)] : [];

        return [...($uid === null ? [] : ['env', ...$environment, 'setpriv', '--reuid', (string) $uid, '--regid', (string) $uid, '--clear-groups', '--']), \PHP_BINARY, ...$settings, '-r', 'require ' . \var_export($autoload, true) . ";$code"];
    }

    /**
     * What --json prints.
     *
     * @return array<string, mixed>
     */
    public function document(string $options = '', ?int $uid = null): array
    {
        $child = $this->fleet("--json $options", $uid);
        $document = \json_decode($child->output, true);

        return \is_array($document) ? $document : throw new \RuntimeException($child->output . $child->errors);
    }

    /**
     * What --json prints of the caches, as "kind path" below the root.
     *
     * @return array<string, array<string, mixed>>
     */
    public function caches(string $options = '', ?int $uid = null): array
    {
        $caches = [];
        foreach ($this->document($options, $uid)['caches'] as $cache) {
            $path = \is_array($cache['path']) ? \base64_decode($cache['path']['value']) : $cache['path'];
            $caches[$cache['kind'] . ' ' . \substr($path, \strlen($this->root) + 1)] = $cache;
        }
        \ksort($caches);

        return $caches;
    }

    /** A site as a cache over SQLite leaves it, with a segment; made by hand, in no time. */
    public function site(int $uid, string $name): string
    {
        static $database = null;
        $database ??= $this->database(0x4C617264);
        $state = $this->user($uid, $name);
        foreach (['.local', 'state', 'larder'] as $part) {
            $this->put($uid, $state .= "/$part", null, 0o700);
        }
        $this->put($uid, "$state/larder-directory.txt", "This directory belongs to Larder, as an older release has said.\n");
        $this->put($uid, "$state/larder.db", $database);
        $this->put($uid, "$state/larder.lock", '1 0123456789ab 1');
        $this->put($uid, "$state/bell.0123456789ab", \str_repeat('b', 5_000));
        $this->put($uid, "$this->root/shm/larder-$uid", null, 0o700);
        $this->put($uid, "$this->root/shm/larder-$uid/memory-of-running-php", self::segment(90, 10), 0o400);

        return $state;
    }

    /** The bytes of an SQLite database. */
    public function database(int $application): string
    {
        $file = "$this->root/template.db";
        $pdo = new \PDO("sqlite:$file");
        $pdo->exec("PRAGMA application_id=$application; CREATE TABLE e (k BLOB)");
        $pdo = null;
        $database = (string) \file_get_contents($file);
        \unlink($file);

        return $database;
    }

    /** The first page of a segment, which a file without more has too. */
    public static function segment(int $hits, int $misses, ?string $boot = null): string
    {
        $length = 2368;
        $page = 'LRLDSEG1' . \pack('V2', 7, $length) . \str_pad('a build', 192, "\0") . \pack('P4', 1 << 20, 1 << 45, 5, 6)
            . \strrev(\hash('fnv1a64', $boot ?? (string) \file_get_contents(MachineBoot::FILE), true));
        $page = \str_pad($page, 376, "\1");
        $page = \str_pad($page . \strrev(\hash('fnv1a64', $page, true)), $length - 192, "\2") . \pack('P', $hits);
        $page = \str_pad($page, $length - 128, "\0") . \pack('P2', $misses, 3);

        return \str_pad($page, 4096, "\0");
    }
}
