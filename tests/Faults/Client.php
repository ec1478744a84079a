<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\Process;

/**
 * Another process with a Cache of its own, told line by line what to call: one that can be killed, stopped, or be
 * another user.
 *
 * Any notice or warning in it, also a silenced one, and any exception is thrown here.
 */
final class Client
{
    private const PROGRAM = <<<'PHP'
        set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new ErrorException($message, 0, $level, $file, $line);
        });
        $cache = null;
        while (($line = fgets(STDIN)) !== false) {
            [$method, $arguments] = json_decode($line, true);
            $start = hrtime(true);
            try {
                switch ($method) {
                    case 'open':
                        $cache = null;
                        $cache = Larder\Cache::open(...$arguments);
                        $result = true;
                        break;
                    case 'close':
                        $cache = null;
                        $result = true;
                        break;
                    case 'remember':
                        $result = $cache->remember($arguments[0], static fn() => $arguments[1]);
                        break;
                    case 'stall':
                        $cache->remember($arguments[0], static function () { while (true) { sleep(60); } });
                        break;
                    case 'inGroup':
                        $result = $cache->group($arguments[0])->{$arguments[1]}(...array_slice($arguments, 2));
                        break;
                    case 'apcu_clear_cache':
                        $result = apcu_clear_cache();
                        break;
                    default:
                        $result = $cache->$method(...$arguments);
                }
                if ($result instanceof Traversable) {
                    $result = iterator_to_array($result);
                }
                $answer = ['result' => $result];
            } catch (Throwable $e) {
                $answer = ['threw' => $e::class . ': ' . $e->getMessage() . ' at ' . $e->getFile() . ':' . $e->getLine()];
            }
            echo json_encode($answer + ['seconds' => (hrtime(true) - $start) / 1e9], JSON_THROW_ON_ERROR), "\n";
        }
        PHP;

    public readonly Process $process;

    /** Seconds that all calls together have taken. */
    public float $seconds = 0.0;

    /**
     * @param array<string, mixed>            $options     for Cache::open(); nothing is opened where there are none
     * @param ?int                            $user        becomes this one, which needs root
     * @param array<string, string|int|float> $ini
     * @param array<string, string>           $environment
     */
    public function __construct(array $options = [], ?int $user = null, array $ini = [], array $environment = [])
    {
        $command = [\PHP_BINARY];
        $ini += ['apc.enable_cli' => 1, 'display_errors' => 'stderr', 'error_reporting' => \E_ALL, 'log_errors' => 1];
        foreach ($ini as $name => $value) {
            \array_push($command, '-d', $name . '=' . $value);
        }
        $autoload = 'require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ";\n";
        // Loaded before: the user may not be able to read the code.
        $become = $user === null ? '' : <<<PHP
            foreach (new RegexIterator(new RecursiveIteratorIterator(new RecursiveDirectoryIterator(dirname((new ReflectionClass(Larder\Cache::class))->getFileName()))), '~(?<!Console)/[A-Z]\\w+\.php$~') as \$file) {
                preg_match('~/(Console/|Bridge/|Request/HitPath\.php)~', (string) \$file) || require_once \$file;
            }
            posix_setgid($user);
            posix_setuid($user);

            PHP;
        $this->process = new Process([...$command, '-r', $autoload . $become . self::PROGRAM], $environment);
        if ($options !== []) {
            $this->call('open', $options);
        }
    }

    /** Calls a method of the Cache; see PROGRAM for what else. */
    public function call(string $method, mixed ...$arguments): mixed
    {
        $this->send($method, ...$arguments);

        return $this->answer();
    }

    /** Calls, and does not wait for the answer. */
    public function send(string $method, mixed ...$arguments): void
    {
        $this->process->write(\json_encode([$method, $arguments], \JSON_THROW_ON_ERROR) . "\n");
    }

    public function answer(float $timeout = 60.0): mixed
    {
        $line = $this->process->line($timeout);
        if ($line === null) {
            throw new \RuntimeException('The client does not answer. Errors: ' . $this->process->errors());
        }
        $answer = \json_decode($line, true, 512, \JSON_THROW_ON_ERROR);
        if (!\is_array($answer) || isset($answer['threw'])) {
            throw new \RuntimeException('The client threw ' . $line);
        }
        $this->seconds += \is_float($answer['seconds']) ? $answer['seconds'] : 0.0;

        return $answer['result'];
    }

    /**
     * Larder's lines in its error log, which is its standard error.
     *
     * @return list<string>
     */
    public function log(): array
    {
        return \array_values(\array_filter(
            \explode("\n", $this->process->errors()),
            static fn(string $line): bool => \str_contains($line, 'larder: '),
        ));
    }
}
