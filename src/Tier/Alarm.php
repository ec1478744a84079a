<?php

declare(strict_types=1);

namespace Larder\Tier;

use Psr\Log\LoggerInterface;

/** One clear line per process and minute about a part that has failed: to the logger given, else to PHP's error log. */
final class Alarm
{
    private const SECONDS = 60;

    /** @var array<string, int> when each part was spoken of last, hrtime seconds */
    private static array $last = [];

    public function __construct(private readonly ?LoggerInterface $logger) {}

    public function ring(string $part, string $message): void
    {
        $now = \hrtime()[0];
        if (isset(self::$last[$part]) && $now - self::$last[$part] < self::SECONDS) {
            return;
        }
        self::$last[$part] = $now;
        $line = 'larder: ' . \str_replace(["\r", "\n"], ' ', $message);
        try {
            $this->logger === null ? \error_log($line) : $this->logger->warning($line, ['part' => $part]);
        } catch (\Throwable) {
            // A logger that fails must not take the application with it.
        }
    }
}
