<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Subject\LarderExtension;
use Larder\Lab\WordPress\Browser;
use Symfony\Component\Process\Process;

/**
 * Compares what php-fpm has answered, by the web server's log, with what the counter or the queue holds after it and what a
 * consumer has taken meanwhile. A driver that holds another number has lost some, or invented some.
 */
final readonly class Audit
{
    public const LOG = '../answered.log';

    /** Seconds in which the requests that the load program has left behind end, and the log is written. */
    private const PATIENCE = 10.0;

    /** @param string $path whose requests count */
    public function __construct(private string $path, private bool $hasConsumer) {}

    /** @return \Closure(): ?string to be called after the load: what is wrong */
    public function begin(Directory $root, string $site): \Closure
    {
        self::ask("$site/clear.php");
        $before = $this->answered($root);
        $consumer = $this->hasConsumer ? self::consumer($root) : null;

        return function () use ($root, $site, $before, $consumer): ?string {
            $answered = $this->settled($root);
            $refused = $answered['other'] - $before['other'];
            $accepted = $answered['200'] - $before['200'];
            $taken = $consumer === null ? 0 : self::stop($consumer, $root);
            $held = (int) self::ask("$site/held.php");

            return match (true) {
                $refused > 0 => "$refused requests failed",
                $held + $taken !== $accepted => "$accepted requests were answered, and " . ($this->hasConsumer ? "$taken were taken and $held are left" : "it holds $held"),
                default => null,
            };
        };
    }

    private static function consumer(Directory $root): Process
    {
        \is_file($root->file(Endpoint::STOP)) && \unlink($root->file(Endpoint::STOP));
        $settings = [];
        foreach (LarderExtension::ini() as $name => $value) {
            \array_push($settings, '-d', "$name=$value");
        }
        $process = new Process([\PHP_BINARY, ...$settings, $root->file('take.php')], timeout: null);
        $process->start();

        return $process;
    }

    private static function stop(Process $consumer, Directory $root): int
    {
        \touch($root->file(Endpoint::STOP));
        $consumer->setTimeout(\microtime(true) - $consumer->getStartTime() + 120.0);
        $consumer->wait();
        if (!$consumer->isSuccessful() || \preg_match('/^\d+$/D', $consumer->getOutput()) !== 1) {
            throw new ServiceFailure('The consumer failed: ' . \substr($consumer->getErrorOutput() . $consumer->getOutput(), 0, 500));
        }

        return (int) $consumer->getOutput();
    }

    private static function ask(string $url): string
    {
        $answer = Browser::of($url);

        return $answer->status === 200 ? $answer->body : throw new ServiceFailure("$url answers $answer->status: " . \substr($answer->body, 0, 500));
    }

    /** @return array{200: int, other: int} when no more come */
    private function settled(Directory $root): array
    {
        $now = [];
        $end = \microtime(true) + self::PATIENCE;
        do {
            $before = $now;
            \usleep(500_000);
            $now = $this->answered($root);
        } while ($now !== $before && \microtime(true) < $end);

        return $now;
    }

    /** @return array{200: int, other: int} requests by php-fpm's answer */
    private function answered(Directory $root): array
    {
        $log = (string) \file_get_contents($root->file(self::LOG));
        $all = \preg_match_all('~^' . \preg_quote($this->path, '~') . ' (\d+)$~m', $log, $found);
        $good = \count(\array_keys($found[1], '200', true));

        return ['200' => $good, 'other' => (int) $all - $good];
    }
}
