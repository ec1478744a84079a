<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * A PHP file a value, included from OPcache: the array is a constant of the compiled file, which is shared and never
 * copied. Keys are names of files.
 *
 * OPcache does not keep a file that is younger than opcache.file_update_protection (2 s) at the request's start, which
 * on the command line is the process's (ZendAccelerator.c, persistent_compile_file); so files are made older when they
 * are written.
 *
 * Its memory belongs to one PHP and its children, and what one of them writes is told to OPcache by
 * opcache_invalidate(); another PHP that has the same file in memory does not notice. So it is with php-fpm.
 *
 * Each write of a file that was read leaves its old code behind as waste, until OPcache is full and starts anew; a
 * benchmark that runs into it is told so at its end, and not given the time of a compiler. What a
 * cache by key does around the include, it makes a path of the key and expects that no file is there, is timed with it;
 * IncludeDriver is the include alone.
 */
final class OpcacheDriver extends Driver
{
    private readonly string $directory;
    private readonly Complaint $complaint;
    private string $temporary = '';
    private int $age = 0;

    /** What must be in OPcache, since it has been included. */
    private ?string $included = null;

    /** @param array<string, string|int> $parameters directory */
    public function __construct(array $parameters)
    {
        $this->directory = (new Parameters($parameters))->directory() . '/';
        $this->complaint = new Complaint();
    }

    public function connect(): void
    {
        if (!\function_exists('opcache_get_status') || \opcache_get_status(false) === false) {
            throw EngineFailure::off('OPcache is off here', 'start PHP with -d opcache.enable_cli=1, and with the extension where it is not built in');
        }
        $this->temporary = $this->directory . '.writing-' . \getmypid();
        $started = $_SERVER['REQUEST_TIME'] ?? \time();
        $this->age = (\is_int($started) ? $started : \time()) - (int) \ini_get('opcache.file_update_protection') - 60;
    }

    public function disconnect(): void
    {
        if ($this->included !== null) {
            self::mustHold($this->included);
        }
    }

    /** @throws EngineFailure where a file that has been included is not in OPcache: what is timed then is the compiler */
    public static function mustHold(string $file): void
    {
        $status = \opcache_get_status(false);
        if ($status === false || $status['cache_full'] || $status['restart_pending'] || !\opcache_is_script_cached($file)) {
            throw EngineFailure::off('OPcache does not hold the included file', \sprintf(
                'give it more memory, opcache.memory_consumption (now %s MB) and opcache.max_accelerated_files (now %s)',
                \ini_get('opcache.memory_consumption'),
                \ini_get('opcache.max_accelerated_files'),
            ));
        }
    }

    public function write(array $values): void
    {
        $directory = $this->directory;
        $temporary = $this->temporary;
        $age = $this->age;
        $this->included = null;
        $this->complaint->listen();
        try {
            foreach ($values as $key => $value) {
                $file = $directory . $key . '.php';
                if (\file_put_contents($temporary, "<?php\n\nreturn " . \var_export($value, true) . ";\n") === false
                    || !\touch($temporary, $age) || !\rename($temporary, $file)) {
                    throw EngineFailure::refused('The file system', 'store it', $this->complaint->text);
                }
                \opcache_invalidate($file, true);
            }
        } finally {
            \restore_error_handler();
        }
    }

    public function read(array $keys): mixed
    {
        $directory = $this->directory;
        $value = null;
        // A file that is not there is a warning and false.
        $this->complaint->listen();
        try {
            foreach ($keys as $key) {
                $value = include $directory . $key . '.php';
            }
        } finally {
            \restore_error_handler();
        }
        if ($value !== false) {
            $this->included = $directory . $key . '.php';
        } elseif (!\is_dir($directory)) {
            throw EngineFailure::refused('The file system', 'give it', $this->complaint->text);
        }

        return $value;
    }
}
