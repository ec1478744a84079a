<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Lab\Installation;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Service\Directory;

/** The scripts of the scenarios' sites, as an owner would write them. */
final class Script
{
    /** The value that the scripts of `fpm` read. */
    public const VALUE = 'Hello from the cache.';

    /** Prints which near tier Larder has. */
    public const NEAR = 'near.php';

    /** @param array<string, string|int> $address of the subject's server */
    public static function write(Directory $root, Subject $subject, string $dsn, array $address): void
    {
        $put = static fn(string $name, string $content): int|false => \file_put_contents($root->file($name), $content);
        $library = Installation::library();
        $require = 'require ' . \var_export(Installation::packages() . '/autoload.php', true) . ';';
        $application = '\\' . Application::class . '::run();';
        $value = \var_export(self::VALUE, true);
        $socket = \var_export((string) ($address['socket'] ?? ''), true);
        $cache = 'Larder\Cache::open(' . \var_export($dsn, true) . ')';
        $put(self::NEAR, "<?php $require echo {$cache}->stats()['near']['engine'] ?? 'none';");
        foreach (Endpoint::scripts($subject, $dsn, $address) as $name => $code) {
            $put($name, $code);
        }
        switch ($subject->parameters['script'] ?? '') {
            case Endpoint::SCRIPT:
                break;
            case LaravelSite::SCRIPT:
                LaravelSite::write($root, $subject, $dsn, $address);
                break;
            case 'empty':
                $put('index.php', '<?php');
                break;
            case 'filesystem':
                $put('value', self::VALUE);
                $put('index.php', '<?php echo file_get_contents(__DIR__ . "/value");');
                break;
            case 'memcached':
                $put('index.php', "<?php \$m = new Memcached(); \$m->addServer($socket, 0); \$value = \$m->get('key'); if (\$value === false) { \$m->set('key', \$value = $value); } echo \$value;");
                break;
            case 'redis':
                $put('index.php', "<?php \$r = new Redis(); \$r->connect($socket); \$value = \$r->get('key'); if (\$value === false) { \$r->set('key', \$value = $value); } echo \$value;");
                break;
            case 'larder':
                $put('index.php', "<?php $require echo {$cache}->remember('key', static fn() => $value);");
                break;
            case 'requests':
                $put('load.php', Loader::program("$library/src"));
                $put('index.php', self::reader($subject, ['{directory}' => \var_export("$root->path-store", true), '{socket}' => $socket, '{dsn}' => \var_export($dsn, true), '{symfony}' => '\Symfony\Component\Cache\Adapter\\', '{illuminate}' => '\Illuminate\\']));
                break;
            case 'application':
                $put('index.php', "<?php $require $application");
                break;
            case 'pages':
                $put('index.php', "<?php $require (new Larder\\Page\\PageCache($cache))->start(); $application");
                break;
            case 'fast':
                $options = \var_export(['copies' => $subject->parameters['copies']], true);
                $put('index.php', '<?php require ' . \var_export("$library/larder-serve.php", true) . "; $require (new Larder\\Page\\PageCache($cache, $options))->start(); $application");
                break;
            case 'static':
                $options = \var_export(['static' => "$root->path-pages"], true);
                $put('index.php', "<?php $require (new Larder\\Page\\PageCache($cache, $options))->start(); $application");
                break;
            case 'echo':
                $put('index.php', self::constants($put, $root));
                break;
            default:
                foreach (Application::PAGES as $path => $bytes) {
                    $put($path, Application::page($bytes));
                    $put("$path.gz", (string) \gzencode(Application::page($bytes), 6));
                }
        }
    }

    /** What the script of `requests` answers: a checksum of the values of so many keys. */
    public static function checksum(int $keys): string
    {
        return \md5(\implode('', \array_map(static fn(int $key): string => \str_repeat(\md5("key-$key"), 4), \range(1, $keys))));
    }

    /**
     * Reads as many keys as it is asked for, one by one; computes a value that is not there.
     *
     * @param array<string, string> $words of PHP, by what stands for them
     */
    private static function reader(Subject $subject, array $words): string
    {
        $helpers = '';
        if (($subject->parameters['framework'] ?? '') === 'laravel') {
            // Files that Composer's loader of an application loads in each request.
            foreach (['Collections/functions', 'Collections/helpers', 'Reflection/helpers', 'Support/functions', 'Support/helpers'] as $name) {
                $helpers .= 'require ' . \var_export(Loader::package('laravel/framework') . "/src/Illuminate/$name.php", true) . '; ';
            }
        }
        $get = \strtr((string) $subject->parameters['get'], ['{key}' => '"key-$i"', '{compute}' => 'static fn() => str_repeat(md5("key-$i"), 4)']);

        return "<?php require __DIR__ . '/load.php'; $helpers\$c = " . \strtr((string) $subject->parameters['cache'], $words)
            . '; $all = ""; for ($i = 1, $last = (int) $_GET["keys"]; $i <= $last; $i++) { $all .= $c->' . $get . '; } echo md5($all);';
    }

    /**
     * The script that the pages are compared with: it prints a constant, with the header that a page from Larder has.
     *
     * @param \Closure(string, string): (int|false) $put
     */
    private static function constants(\Closure $put, Directory $root): string
    {
        $cases = '';
        foreach (Application::PAGES as $path => $bytes) {
            foreach (['' => Application::page($bytes), 'gzip' => (string) \gzencode(Application::page($bytes), 6)] as $coding => $body) {
                $lines = [...Application::FIELDS, 'Date: ' . \gmdate('D, d M Y H:i:s') . ' GMT', 'Vary: Accept-Encoding', 'ETag: "0123456789abcdef0123456789abcdef"', 'Age: 10', 'Cache-Status: constant; hit; ttl=3590', ...($coding === '' ? [] : ["Content-Encoding: $coding"]), 'Content-Length: ' . \strlen($body)];
                $headers = \implode('', \array_map(static fn(string $line): string => 'header(' . \var_export($line, true) . '); ', $lines));
                $name = "$path-$coding.php";
                $put($name, "<?php {$headers}echo " . \var_export($body, true) . ';');
                $cases .= \var_export("$path $coding", true) . ' => ' . \var_export($root->path . $name, true) . ', ';
            }
        }

        return "<?php require [$cases][getenv('REQUEST_URI') . (getenv('HTTP_ACCEPT_ENCODING') === 'gzip' ? ' gzip' : ' ')];";
    }
}
