<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Directory;
use Larder\Config\InvalidConfiguration;
use Larder\Config\Options;
use Larder\Console\Support\Text;
use Larder\System\Failure;
use Larder\System\IncidentLog;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\System\ServerPolicy;
use Larder\System\WrongUser;

/**
 * Checks the directory: its owner, its mode, the space left, and the speed of its file system.
 *
 * DoctorCommand hides PHP's warnings meanwhile.
 */
final class Folder
{
    private const ROUNDS = 50;
    /** Seconds: a local disk takes some 50 microseconds, a network file system milliseconds. */
    private const SLOW = 0.001;

    /**
     * @return iterable<Finding>
     *
     * @throws WrongUser after the findings before it
     */
    public static function findings(string $path, Options $options, ServerPolicy $policy = new ServerPolicy()): iterable
    {
        $there = \is_dir($path);
        try {
            Directory::prepare($path);
        } catch (InvalidConfiguration|Failure $e) {
            yield Finding::fail('directory', $e->getMessage(), 'Do what it says, or name another directory.');

            return;
        }
        yield Finding::ok('directory', \sprintf(
            '%s, %s, of %s, mode %04o',
            $path,
            $there ? 'there' : 'created just now',
            Ownership::name(PrivateDirectory::owner($path)),
            (int) \fileperms($path) & 0o7777,
        ));
        yield from self::mishaps($path);
        yield from self::mount($path);
        yield from self::space($path, $policy->atMost($options->budget, 'disk'));
        yield self::latency($path);
        yield from self::privateTemporary($path, '/');
    }

    /**
     * Whether systemd gives the web's PHP another /tmp than the command line: then they would have two caches. Only a service
     * that runs counts, and of the web's own only the one that runs this.
     *
     * @param string $root of the file system, for tests
     * @param string $sapi of this PHP, for tests
     *
     * @return iterable<Finding>
     */
    public static function privateTemporary(string $path, string $root, string $sapi = \PHP_SAPI): iterable
    {
        if (!\str_starts_with($path, '/tmp/') && !\str_starts_with($path, '/var/tmp/')) {
            return;
        }
        // Alpine's glob() knows no braces.
        $services = match ($sapi) {
            'apache2handler' => ['apache2', 'httpd'],
            'fpm-fcgi' => ['php*fpm'],
            default => ['apache2', 'httpd', 'php*fpm'],
        };
        foreach (['etc/systemd/system', 'usr/lib/systemd/system', 'lib/systemd/system'] as $units) {
            foreach (\array_merge(...\array_map(static fn(string $service): array => \glob("$root$units/$service.service") ?: [], $services)) as $unit) {
                if (\is_dir($root . 'sys/fs/cgroup/system.slice/' . \basename($unit)) && \is_readable($unit) && \preg_match('/^\s*PrivateTmp\s*=\s*(true|yes|1|on|disconnected)\s*$/mi', (string) \file_get_contents($unit)) === 1) {
                    yield Finding::warn(
                        'private /tmp',
                        \basename($unit) . ' uses its own /tmp and /var/tmp (PrivateTmp), so web and command line have two caches',
                        'Give both a directory elsewhere, for example LARDER_DSN=sqlite:///var/cache/app.',
                    );

                    return;
                }
            }
        }
    }

    /** @return iterable<Finding> */
    private static function mishaps(string $path): iterable
    {
        foreach (\scandir($path) ?: [] as $name) {
            $flaw = \is_dir($path . '/' . $name) && !\is_link($path . '/' . $name) ? null : Ownership::flaw($path . '/' . $name);
            if ($flaw !== null) {
                yield Finding::fail('foreign file', $flaw, 'Larder does not open it. Remove it, and find out who could write there.');
            }
        }
        $lines = IncidentLog::of($path);
        if ($lines !== []) {
            yield Finding::warn(
                'lost files',
                (\count($lines) === 1 ? '' : \count($lines) . ' times, last ') . \end($lines)
                . ': the cache started empty, and a process that was using the file may have died (SIGBUS)',
                'Find the program that empties or removes files there (a clean-up of caches or temporary files, a deployment), and exclude ' . $path . '; then delete ' . IncidentLog::FILE . ' in it.',
            );
        }
        if (\is_file($path . '/larder.db.damaged')) {
            yield Finding::warn(
                'damaged',
                'Larder moved a damaged database aside on ' . \gmdate('Y-m-d H:i', (int) \filemtime($path . '/larder.db.damaged')) . ' UTC',
                'Check the disk; then delete ' . $path . '/larder.db.damaged.',
            );
        }
    }

    /** @return iterable<Finding> */
    private static function mount(string $path): iterable
    {
        $mount = Mount::of($path);
        if ($mount === null) {
            yield Finding::note('file system', 'not known: /proc/self/mountinfo cannot be read');
        } elseif ($mount->isNetwork()) {
            yield Finding::warn(
                'file system',
                $mount->type . ' at ' . $mount->point . ', over a network: locks and SQLite\'s log are not reliable there (sqlite.org/wal.html), and each call takes milliseconds',
                'Use a directory on a local disk, for example LARDER_DSN=sqlite:///var/cache/app; to share between servers add far=redis://… or far=memcached://….',
            );
        } elseif ($mount->isMemory()) {
            yield Finding::warn('file system', $mount->type . ' at ' . $mount->point . ': in memory, so the cache is cold after a restart of the machine', 'Use a directory on a disk, for example LARDER_DSN=sqlite:///var/cache/app.');
        } else {
            yield Finding::ok('file system', $mount->type . ' at ' . $mount->point);
        }
    }

    /** @return iterable<Finding> */
    private static function space(string $path, int $budget): iterable
    {
        $free = \function_exists('disk_free_space') ? \disk_free_space($path) : false;
        if ($free === false) {
            return;
        }
        $text = Text::bytes((int) $free) . ' free, budget ' . Text::bytes($budget);
        yield $free < $budget
            ? Finding::warn('space', $text, 'Make room, or set a smaller budget, for example ?budget=' . \max(1, (int) ($free / 2) >> 20) . 'M.')
            : Finding::ok('space', $text);
    }

    private static function size(string $file): int|false
    {
        \clearstatcache();

        return \filesize($file);
    }

    private static function latency(string $path): Finding
    {
        $name = $path . '/doctor-' . \bin2hex(\random_bytes(4));
        $bytes = \random_bytes(1024);
        $times = [];
        $end = \hrtime(true) + 500_000_000;
        try {
            for ($i = 0; $i < self::ROUNDS && \hrtime(true) < $end; $i++) {
                $start = \hrtime(true);
                if (\file_put_contents($name . '.new', $bytes) !== 1024 || !\rename($name . '.new', $name) || self::size($name) !== 1024) {
                    return Finding::fail('latency', 'cannot write and rename a file there', 'Make room on the disk, and check that it is not mounted read-only.');
                }
                $times[] = (\hrtime(true) - $start) / 1e9;
            }
        } finally {
            \file_exists($name) && \unlink($name);
            \file_exists($name . '.new') && \unlink($name . '.new');
        }
        $median = Timing::median($times);
        $text = \sprintf('%s to write, rename and stat a file of 1 kB (median of %d)', Text::duration($median), \count($times));

        return $median > self::SLOW
            ? Finding::warn('latency', $text . ': slow', 'Use a directory on a local disk, for example LARDER_DSN=sqlite:///var/cache/app.')
            : Finding::ok('latency', $text);
    }
}
