<?php

declare(strict_types=1);

namespace Larder\Console\Queue;

use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\Queue\Schedule;
use Symfony\Component\Console\Exception\InvalidArgumentException;

/** What the option --handler names: a PHP file that returns a callable, Class::method, or a class with __invoke(). */
final class Handler
{
    private const ADVICE = 'Write --handler=handler.php, a file that returns a function (body, message), or --handler="App\Mailer::send", or a class with __invoke().';

    /**
     * @return \Closure(mixed, Message): mixed
     *
     * @throws InvalidArgumentException
     */
    public static function load(string $text): \Closure
    {
        if ($text === '') {
            throw new InvalidArgumentException('No handler. ' . self::ADVICE);
        }
        if (\is_file($text)) {
            return self::returned($text, self::ADVICE);
        }
        if (\str_ends_with($text, '.php') || \str_contains($text, '/')) {
            throw new InvalidArgumentException("There is no file \"$text\". " . self::ADVICE);
        }
        [$class, $method] = \explode('::', $text, 2) + [1 => '__invoke'];
        if (!\class_exists($class)) {
            throw new InvalidArgumentException("There is no class \"$class\" that PHP can load here. " . self::ADVICE);
        }
        if (!\method_exists($class, $method)) {
            throw new InvalidArgumentException("The class $class has no method $method(). " . self::ADVICE);
        }
        $reflection = new \ReflectionMethod($class, $method);
        if ($reflection->isStatic()) {
            return $reflection->getClosure();
        }
        $needed = (new \ReflectionClass($class))->getConstructor()?->getNumberOfRequiredParameters() ?? 0;
        if ($needed > 0) {
            throw new InvalidArgumentException("The constructor of $class needs $needed arguments, which are not known here. Write a file that makes the object and returns it: --handler=handler.php.");
        }

        return $reflection->getClosure(new $class());
    }

    /**
     * What the option --schedule names: a PHP file that returns a function, which adds to the schedule.
     *
     * @throws InvalidArgumentException
     */
    public static function schedule(string $file, Queue $queue): Schedule
    {
        $advice = 'Write --schedule=schedule.php, a file that returns a function (Larder\Queue\Schedule).';
        if (!\is_file($file)) {
            throw new InvalidArgumentException("There is no file \"$file\". $advice");
        }
        $schedule = new Schedule($queue);
        self::returned($file, $advice)($schedule);

        return $schedule;
    }

    /** The callable that a file returns. */
    private static function returned(string $file, string $advice): \Closure
    {
        $callable = (static fn(): mixed => require \realpath($file))();

        return \is_callable($callable) ? $callable(...) : throw new InvalidArgumentException("The file \"$file\" returns " . \get_debug_type($callable) . ", and no callable. $advice");
    }
}
