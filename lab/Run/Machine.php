<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Composer\InstalledVersions;
use Larder\Lab\Service\Cores;

/** What the figures were found on. */
final class Machine
{
    private const EXTENSIONS = ['apcu', 'igbinary', 'msgpack', 'redis', 'memcached', 'pdo_sqlite', 'Zend OPcache', 'zstd', 'lz4'];

    /** @return array<string, string|int|float> */
    public static function facts(): array
    {
        $cpu = self::file('/proc/cpuinfo');
        $facts = [
            'processor' => \preg_match('/^model name\s*:\s*(.+)$/m', $cpu, $match) === 1 ? \trim($match[1]) : \php_uname('m'),
            'cores' => \max(1, \preg_match_all('/^processor\s*:/m', $cpu)),
            'memory' => \preg_match('/^MemTotal:\s*(\d+) kB/m', self::file('/proc/meminfo'), $match) === 1 ? (int) $match[1] * 1024 : 0,
            'system' => \preg_match('/^PRETTY_NAME="?([^"\n]+)/m', self::file('/etc/os-release'), $match) === 1 ? $match[1] : \PHP_OS_FAMILY,
            'kernel' => \php_uname('s') . ' ' . \php_uname('r'),
            'held' => (new Cores())->about(),
            'virtual' => \str_contains($cpu, 'hypervisor') ? 'yes' : 'no',
        ];
        $load = \function_exists('sys_getloadavg') ? \sys_getloadavg() : false;
        if ($load !== false) {
            $facts['load'] = \round($load[0], 2);
        }

        return $facts;
    }

    /** @return array<string, string> */
    public static function versions(): array
    {
        $versions = ['PHP' => \PHP_VERSION . (\PHP_ZTS ? ' ZTS' : '') . (\PHP_DEBUG ? ' debug' : '')];
        foreach (self::EXTENSIONS as $extension) {
            $version = \phpversion($extension);
            if ($version !== false) {
                $versions[$extension === 'Zend OPcache' ? 'OPcache' : $extension] = $version;
            }
        }
        foreach (['larder/larder' => 'Larder', 'predis/predis' => 'Predis'] as $package => $name) {
            if (\class_exists(InstalledVersions::class) && InstalledVersions::isInstalled($package)) {
                $reference = $package === 'larder/larder' ? \substr((string) InstalledVersions::getReference($package), 0, 10) : '';
                $versions[$name] = \trim((InstalledVersions::getPrettyVersion($package) ?? '') . " $reference");
            }
        }

        return $versions;
    }

    private static function file(string $path): string
    {
        return \is_readable($path) ? (string) \file_get_contents($path) : '';
    }
}
