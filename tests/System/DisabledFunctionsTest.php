<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\Config\Functions;
use Larder\System\Fork;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Hosts that many share take functions away (disable_functions), and hide files (open_basedir): a cache needs few of either. */
#[CoversClass(Fork::class)]
#[CoversClass(Functions::class)]
#[Group('slow')]
final class DisabledFunctionsTest extends TestCase
{
    /** Of lists that hosts publish, all. What WordPress itself cannot do without is in none. */
    public const COMMON = 'apache_child_terminate,apache_setenv,chgrp,chown,closelog,curl_multi_exec,debug_zval_refcount,define_syslog_variables,disk_free_space,disk_total_space,diskfreespace,dl,'
        . 'error_log,escapeshellarg,escapeshellcmd,eval,exec,fpassthru,fp,fput,fsockopen,ftok,get_cfg_var,get_current_user,gethostname,getlastmod,getmygid,getmyinode,getmypid,getmyuid,getrusage,highlight_file,'
        . 'ignore_user_abort,ini_alter,ini_restore,ini_set,inject_code,lchgrp,lchown,leak,link,listen,mail,mb_send_mail,openlog,parse_ini_file,passthru,pclose,pcntl_alarm,pcntl_exec,pcntl_fork,'
        . 'pcntl_get_last_error,pcntl_getpriority,pcntl_setpriority,pcntl_signal,pcntl_signal_dispatch,pcntl_sigprocmask,pcntl_sigtimedwait,pcntl_sigwaitinfo,pcntl_strerror,pcntl_wait,pcntl_waitpid,'
        . 'pfsockopen,php_uname,phpinfo,phpversion,popen,posix_ctermid,posix_getcwd,posix_getegid,posix_geteuid,posix_getgid,posix_getgrgid,posix_getgrnam,posix_getgroups,posix_getlogin,posix_getpgid,'
        . 'posix_getpgrp,posix_getpid,posix_getppid,posix_getpwnam,posix_getpwuid,posix_getrlimit,posix_getsid,posix_getuid,posix_get_last_error,posix_initgroups,posix_isatty,posix_kill,posix_mkfifo,posix_mknod,'
        . 'posix_setegid,posix_seteuid,posix_setgid,posix_setpgid,posix_setsid,posix_setuid,posix_strerror,posix_times,posix_ttyname,posix_uname,proc_close,proc_get_status,proc_nice,proc_open,proc_terminate,putenv,'
        . 'readlink,set_time_limit,shell_exec,show_source,sleep,socket_create,stream_socket_server,symlink,sys_getloadavg,syslog,system,umask,usleep,virtual';

    /** Functions that reach out of PHP: files, processes, settings. */
    private const OF_THE_SYSTEM = '/^(f(close|eof|flush|gets|lock|open|passthru|put.*|read|scanf|seek|stat|sync|tell|truncate|write)|file.*|is_(dir|executable|file|link|readable|writ.*able)'
        . '|l?stat|l?ch(own|grp|mod)|chdir|clearstatcache|copy|disk.*|error_log|get(cwd|env|host.*|my.*|rusage)|get_cfg_var|glob|highlight_.*|hrtime|ini_(alter|[gs]et.*|restore)|(sym)?link|linkinfo|mkdir|opendir|parse_ini_file|pcntl_.*'
        . '|php.*|posix_.*|proc_.*|putenv|re(adlink|alpath|name|wind)|readfile|register_.*|rmdir|scandir|set_(error_handler|time_limit)|restore_error_handler|sleep|usleep|stream_.*|sys_.*|tempnam|tmpfile|touch|umask|unlink)$/';

    private const ROUND = <<<'PHP'
        set_error_handler(function (int $level, string $message) { throw new ErrorException($message); });
        $cache = Larder\Cache::open(json_decode($argv[1], true));
        $before = $cache->get('counter', 0);
        $cache->set('counter', $before + 1) || exit('set');
        $cache->set('float', [0.1, ['x' => 1.5e100]]) && $cache->get('float') === [0.1, ['x' => 1.5e100]] || exit('float');
        $cache->add('lock', 1, 60) && !$cache->add('lock', 1, 60) && $cache->delete('lock') || exit('add');
        $cache->increment('n') === $before + 1 || exit('increment');
        $cache->intend('counter');
        $cache->set('counter', $before + 1) || exit('set after an intent');
        $cache->remember('r', fn() => 'computed', soft: 1) === 'computed' || exit('remember');
        $cache->set('tagged', 1, tags: ['t']) && $cache->invalidateTags('t') && $cache->get('tagged') === null || exit('tags');
        $group = $cache->group('g');
        $group->set('k', 1) && $group->flush() && $group->get('k') === null || exit('flush');
        $cache->fill('filled', 1);
        $cache->writeFills();
        $cache->stats();
        $cache->refresh();
        $cache->get('filled') === 1 || exit('fill');
        echo $before;
        PHP;

    /** @var list<string> in the user's own directory: without get_cfg_var() nothing names another */
    private array $before;

    protected function setUp(): void
    {
        $this->before = self::own();
    }

    protected function tearDown(): void
    {
        foreach (\array_diff(self::own(), $this->before) as $file) {
            TemporaryDirectory::clear($file);
        }
        $this->before === [] && TemporaryDirectory::clear('/var/tmp/larder-' . \posix_geteuid());
    }

    /** @return list<string> */
    private static function own(): array
    {
        return \glob('/var/tmp/larder-' . \posix_geteuid() . '/*') ?: [];
    }

    /** @param array<string, string> $source */
    #[DataProvider('caches')]
    public function testItIsAsPersistentWithoutThem(array $source): void
    {
        // The last one has them all, and goes on with it.
        $poor = ['disable_functions' => self::COMMON, 'serialize_precision' => 14];
        self::rounds($source, new TemporaryDirectory(), [$poor, $poor, []]);
    }

    /** @param array<string, string> $source */
    #[DataProvider('caches')]
    public function testItIsAsPersistentWithoutAllThatOnlyUnixHas(array $source): void
    {
        self::rounds($source, new TemporaryDirectory(), [self::bare(), self::bare(), []]);
    }

    /** Seen to fail: a call of posix_geteuid() that nothing looked for before. All engines by one process, as a program may use them. */
    public function testOneProcessHasAllEnginesWithoutThem(): void
    {
        $directory = new TemporaryDirectory();
        $server = new RedisServer();
        $round = \str_replace(['json_decode($argv[1], true)', 'echo $before;'], ['$dsn', 'echo "$before "; gc_collect_cycles();'], self::ROUND);
        $code = 'foreach ([1, 2] as $_) { foreach (array_slice($argv, 1) as $dsn) { ' . $round . ' } }';
        $child = Process::snippet($code, ['memory://', 'file://' . $directory->file('files'), 'sqlite://' . $directory->file('sqlite'), "predis://$server->socket", "redis://$server->socket?prefix=other"], self::bare());
        $child->wait();
        // What memory:// holds ends with its cache.
        self::assertSame(['0 0 0 0 0 0 1 1 1 1 ', ''], [$child->output(), $child->errors()]);
    }

    /** Seen to fail: a worker that waits made a pipe. What must not be forgotten: queue, counter, locks, rate limits. */
    public function testWhatStaysDoesWithoutThem(): void
    {
        $directory = new TemporaryDirectory();
        $server = new RedisServer();
        $code = <<<'PHP'
            set_error_handler(function (int $level, string $message) { throw new ErrorException($message); });
            foreach (array_slice($argv, 1) as $dsn) {
                $queue = Larder\Queue\Queue::open($dsn);
                $queue->push('a');
                $queue->push('b');
                $message = $queue->pop(wait: 0.1);
                $message->body === 'a' && $message->ack() && $queue->size() === 1 && $queue->pop()->ack() && $queue->pop(wait: 0.1) === null || exit('queue');
                $counter = Larder\Counter::open($dsn);
                $counter->add() === 1 && $counter->add(2) === 3 || exit('counter');
                $locks = Larder\Lock\Locks::open($dsn);
                $lock = $locks->acquire('lock');
                $locks->acquire('lock') === null && $lock->release() && $locks->acquire('lock') !== null || exit('lock');
                Larder\RateLimiter::open($dsn)->slidingWindow('limit', 1, 60)->isAllowed && !Larder\RateLimiter::open($dsn)->slidingWindow('limit', 1, 60)->isAllowed || exit('limit');
                $handler = Larder\Session\SessionHandler::over($dsn);
                session_set_save_handler($handler, true);
                session_start(['use_strict_mode' => 1, 'use_cookies' => 0, 'cache_limiter' => '']);
                $_SESSION['n'] = 1;
                session_write_close();
                session_start(['use_strict_mode' => 1, 'use_cookies' => 0, 'cache_limiter' => '']);
                $_SESSION['n'] === 1 || exit('session');
                session_destroy();
                session_id('');
            }
            echo 'done';
            PHP;
        $child = Process::snippet($code, ['sqlite://' . $directory->file('kept'), "predis://$server->socket"], self::bare());
        $child->wait();
        self::assertSame(['done', ''], [$child->output(), $child->errors()]);
    }

    /**
     * Seen to fail: each look for pending invalidations warned, where the system's directory for temporary files is hidden.
     *
     * @param array<string, string> $source
     */
    #[DataProvider('caches')]
    public function testNothingWarnsWhereOnlyTheCacheMayBeSeen(array $source): void
    {
        $directory = new TemporaryDirectory();
        $hidden = ['open_basedir' => \dirname(__DIR__, 2) . ':' . $directory->path, 'sys_temp_dir' => '/var/tmp', 'error_log' => $directory->file('log')];
        self::rounds($source, $directory, [$hidden, $hidden + ['disable_functions' => self::COMMON], $hidden]);
    }

    /**
     * @param array<string, string>           $source
     * @param list<array<string, string|int>> $settings of one process after another
     */
    private static function rounds(array $source, TemporaryDirectory $directory, array $settings): void
    {
        $dsn = $source['dsn'] ?? '';
        if (\str_contains($dsn, 'redis')) {
            $server = new RedisServer();
            $source['dsn'] = $dsn . $server->socket;
        } elseif (\str_contains($dsn, 'memcached')) {
            $server = new MemcachedServer();
            $source['dsn'] = $dsn . $server->address[0];
        } else {
            $source['dsn'] = $dsn . $directory->file('cache');
        }
        foreach ($settings as $round => $ini) {
            $child = Process::snippet(self::ROUND, [(string) \json_encode($source + ['timeout' => 5.0])], $ini);
            $child->wait(60.0);
            self::assertSame([(string) $round, ''], [$child->output(), $child->errors()]);
        }
    }

    /** @return array{disable_functions: string} without all functions of the extensions that a PHP for Windows has not */
    private static function bare(): array
    {
        $extensions = \array_filter(['posix', 'pcntl', 'sysvmsg', 'sysvsem', 'sysvshm'], \extension_loaded(...));
        self::assertContains('posix', $extensions);
        self::assertContains('pcntl', $extensions);

        return ['disable_functions' => \implode(',', \array_merge(...\array_map(static fn(string $name): array => \get_extension_funcs($name) ?: [], $extensions)))];
    }

    /** @return iterable<string, array{array<string, string>}> */
    public static function caches(): iterable
    {
        yield 'SQLite' => [['dsn' => 'sqlite://', 'near' => 'none']];
        yield 'SQLite with what is near by itself' => [['dsn' => 'sqlite://']];
        yield 'SQLite below APCu' => [['dsn' => 'sqlite://', 'near' => 'apcu']];
        yield 'files' => [['dsn' => 'file://']];
        yield 'Memcached' => [['dsn' => 'memcached://']];
        yield 'Predis' => [['dsn' => 'predis://']];
        if (\extension_loaded('redis')) {
            yield 'Redis' => [['dsn' => 'redis://']];
        }
    }

    /** Seen to fail: what it called first threw an Error, in each page. */
    public function testItSaysWhichFunctionItCannotDoWithout(): void
    {
        $directory = new TemporaryDirectory();
        $code = 'try { Larder\Cache::open($argv[1])->set("k", 1); echo "set"; } catch (Larder\Config\InvalidConfiguration $e) { echo $e->getMessage(); }';
        $memcached = ['stream_socket_client' => 'memcached://127.0.0.1'];
        foreach (['chmod', 'fileowner', 'fileperms', 'flock', 'ftruncate', 'getenv', 'ini_get', 'lstat', 'register_shutdown_function', 'set_error_handler', 'stream_socket_client', 'touch'] as $function) {
            $child = Process::snippet($code, [$memcached[$function] ?? 'sqlite://' . $directory->file($function)], ['disable_functions' => $function]);
            self::assertStringContainsString("Larder needs PHP's function $function()", $child->output(), $child->errors());
        }
        foreach (\extension_loaded('apcu') ? Functions::APCU : [] as $function) {
            $child = Process::snippet($code, ['sqlite://' . $directory->file($function) . '?near=apcu'], ['disable_functions' => $function, 'apc.enable_cli' => 1]);
            self::assertStringContainsString("Larder needs PHP's function $function()", $child->output(), $child->errors());
        }
        $child = Process::snippet($code, ['sqlite://' . $directory->file('cache')], ['disable_functions' => 'stream_socket_client']);
        self::assertSame('set', $child->output(), $child->errors());
    }

    /** Seen to fail: the call of the disabled function was a fatal error, in the page. */
    #[TestWith(['header_register_callback'])]
    #[TestWith(['debug_backtrace'])]
    public function testThePageCacheSaysSoBeforeThePage(string $function): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('There is no php-fpm.');
        }
        $fpm = new FpmServer(1, ini: ['disable_functions' => $function, 'display_errors' => 1]);
        $script = $fpm->directory->write('page.php', \sprintf('<?php require %s; try { (new Larder\Page\PageCache(Larder\Cache::open(%s)))->start(); echo "started"; } catch (Larder\Config\InvalidConfiguration $e) { echo $e->getMessage(); }', \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true), \var_export('file://' . $fpm->directory->file('cache'), true)));

        self::assertSame("Larder needs PHP's function $function(), which is disabled in fpm-fcgi. Take $function out of disable_functions in php.ini, or ask the host to.", $fpm->request($script)->body);
    }

    /** Seen to fail: the files were open to others as far as the application's umask let them. */
    public function testWithoutUmaskPrivateFilesArePrivate(): void
    {
        $directory = new TemporaryDirectory();
        $code = '$counter = Larder\Counter::open($argv[1] . "/counters"); $counter->add(); $queue = Larder\Queue\Queue::open($argv[1] . "/queue"); $queue->push("a"); $queue->push("b", delay: 5);'
            . '$cache = Larder\Cache::open($argv[1] . "/cache?metrics=1"); $cache->set("k", 1); $cache->flush();';
        $mine = \umask(0);
        try {
            $child = Process::snippet($code, ['sqlite://' . $directory->path], ['disable_functions' => 'umask']);
            self::assertSame(['', 0], [$child->errors(), $child->wait()]);
        } finally {
            \umask($mine);
        }
        $modes = [];
        foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($directory->path, \FilesystemIterator::SKIP_DOTS)) as $file) {
            $modes[\decoct((int) \fileperms((string) $file) & 0o777)][] = (string) $file;
        }
        self::assertSame(['600'], \array_map(\strval(...), \array_keys($modes)), \var_export($modes, true));
    }

    /** Seen to fail: making the database called umask() and link(). */
    public function testACounterCountsWithoutThemToo(): void
    {
        $directory = new TemporaryDirectory();
        $code = '$counter = Larder\Counter::open($argv[1]); $counter->add(); echo $counter->add();';
        $child = Process::snippet($code, ['sqlite://' . $directory->file('counter')], ['disable_functions' => self::COMMON]);
        self::assertSame(['2', ''], [$child->output(), $child->errors()]);
    }

    public function testItNamesAllThatItNeedsOfThoseThatHostsDisable(): void
    {
        $source = \dirname(__DIR__, 2) . '/src/';
        $missing = [];
        foreach (['System', 'Driver', 'Store', 'Codec', 'Near', 'Request', 'Config', 'Psr', 'Counter'] as $folder) {
            foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($source . $folder, \FilesystemIterator::SKIP_DOTS)) as $file) {
                $text = (string) \file_get_contents((string) $file);
                \preg_match_all('/(?<!new )\\\\([a-z_]+)\(/', $text, $calls);
                foreach (\array_unique($calls[1]) as $function) {
                    if (\preg_match(self::OF_THE_SYSTEM, $function) === 1 && !\in_array($function, [...Functions::NEEDED, ...Functions::SOCKETS], true)
                        && !\str_contains($text, "function_exists('$function')")) {
                        $missing[] = $function . ' in ' . \substr((string) $file, \strlen($source));
                    }
                }
            }
        }
        self::assertSame([], $missing);
        $page = (string) \file_get_contents(\dirname(__DIR__, 2) . '/docs/operator.md');
        foreach ([...Functions::NEEDED, ...Functions::SOCKETS] as $function) {
            self::assertStringContainsString("`$function`", $page);
        }
    }

    public function testTheNumberOfAProcessStaysAndIsNobodyElses(): void
    {
        $code = '$id = Larder\System\Fork::pid(); usleep(1); echo $id, " ", (int) ($id === Larder\System\Fork::pid());';
        $with = Process::snippet($code);
        self::assertSame("$with->pid 1", $with->output());
        $numbers = [];
        foreach ([1, 2] as $time) {
            $without = Process::snippet(\str_replace('usleep(1);', '', $code), ini: ['disable_functions' => self::COMMON, 'open_basedir' => \dirname(__DIR__, 2)]);
            [$number, $stays] = \explode(' ', $without->output()) + ['', ''];
            self::assertSame(['1', ''], [$stays, $without->errors()]);
            // No process has so high a number (proc(5), pid_max).
            self::assertGreaterThan(2 ** 22, (int) $number);
            $numbers[] = $number;
        }
        self::assertNotSame($numbers[0], $numbers[1]);
    }
}
