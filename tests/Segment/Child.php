<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\Process;

/**
 * A PHP with the extension that does what it is told, piece by piece, in one request that lasts until it ends.
 *
 * Variables stay from one piece to the next. What a piece returns comes back; so does what it throws.
 */
final class Child
{
    private const LOOP = <<<'PHP'
        while (($__line = fgets(STDIN)) !== false) {
            try {
                $__said = ['returned', eval(base64_decode($__line))];
            } catch (Throwable $__error) {
                $__said = ['thrown', get_class($__error), $__error->getMessage()];
                unset($__error);
            }
            fwrite(STDOUT, base64_encode(serialize($__said)) . "\n");
        }
        PHP;

    public readonly Process $process;

    /**
     * @param array<string, ?string>          $environment
     * @param list<string>                    $before      a command that starts PHP, as unshare(1)
     * @param array<string, string|int|float> $ini
     */
    public function __construct(array $environment = [], array $before = [], ?string $module = null, array $ini = [])
    {
        $command = [...$before, \PHP_BINARY];
        foreach ($ini + ['extension' => $module ?? Extension::path(), 'display_errors' => 'stderr', 'error_reporting' => \E_ALL] as $name => $value) {
            \array_push($command, '-d', $name . '=' . $value);
        }
        $autoload = 'require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ";\n";
        $this->process = new Process([...$command, '-r', $autoload . self::LOOP], $environment + Extension::environment());
    }

    /** One that has opened the segment, in $s. */
    public static function at(string $path, int $bytes = 1 << 20): self
    {
        $child = new self();
        $child->open($path, $bytes);

        return $child;
    }

    public function open(string $path, int $bytes = 1 << 20): void
    {
        $this->run(\sprintf('$s = Larder\Segment::open(%s, %d);', \var_export($path, true), $bytes));
    }

    /** Does a piece of code, with these variables, and returns what it returns. */
    public function run(string $code, mixed ...$variables): mixed
    {
        $this->start($code, ...$variables);

        return $this->finish();
    }

    /** Begins with a piece of code. */
    public function start(string $code, mixed ...$variables): void
    {
        $given = '';
        foreach ($variables as $name => $value) {
            $given .= '$' . $name . ' = unserialize(base64_decode(\'' . \base64_encode(\serialize($value)) . "'));\n";
        }
        $this->process->write(\base64_encode($given . $code) . "\n");
    }

    /** What the piece of code that was started returns. */
    public function finish(float $timeout = 60.0): mixed
    {
        $line = $this->process->line($timeout);
        if ($line === null) {
            $how = $this->process->isRunning() ? 'says nothing' : 'has ended with ' . $this->process->wait();
            throw new \RuntimeException('The child ' . $how . '. Errors: ' . $this->process->errors());
        }
        /** @var array{0: string, 1: mixed, 2?: string} $said */
        $said = \unserialize((string) \base64_decode($line, true));
        if ($said[0] === 'thrown') {
            \assert(\is_string($said[1]));

            throw new Thrown($said[1], $said[2] ?? '');
        }

        return $said[1];
    }

    /** Lets it end as a script does; its exit status. */
    public function end(): int
    {
        $this->process->closeInput();

        return $this->process->wait();
    }

    /** kill -9. */
    public function kill(): void
    {
        $this->process->kill();
    }
}
