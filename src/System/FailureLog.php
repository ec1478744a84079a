<?php

declare(strict_types=1);

namespace Larder\System;

use Psr\Log\LoggerInterface;

/**
 * Logs one clear line per process and minute about a part that has failed: to the given logger, else to PHP's error log.
 *
 * A web server's process forgets everything between two requests, so a file notes when it last logged a line.
 */
final class FailureLog
{
    private const SECONDS = 60;

    /** Seconds that a request waits for other processes that write the file. */
    private const PATIENCE = 0.02;

    /** @var array<string, int> by part: when its last line was logged, seconds since 1970 */
    private static array $last = [];

    /** @param ?string $file notes the last lines; null: in a web server each request may log a line */
    public function __construct(private readonly ?LoggerInterface $logger, private readonly ?string $file = null) {}

    public function report(string $part, string $message): void
    {
        $now = \time();
        if (\abs($now - (self::$last[$part] ?? 0)) < self::SECONDS || $this->saidBefore($part, $now)) {
            return;
        }
        self::$last[$part] = $now;
        $line = 'larder: ' . Printable::text(\strtr($message, "\t\r\n", '   '));
        try {
            $this->logger === null ? ErrorLog::write($line) : $this->logger->warning($line, ['part' => $part]);
        } catch (\Throwable) {
            // A failing logger must not stop the application.
        }
    }

    /** Whether an earlier request of this process logged the line within the last minute; if not, notes that it is logged now. */
    private function saidBefore(string $part, int $now): bool
    {
        if ($this->file === null || \PHP_SAPI === 'cli') {
            return false;
        }
        $handle = FileLock::file($this->file);
        if ($handle === null) {
            return false;
        }
        try {
            if (!FileLock::take($handle, self::PATIENCE)) {
                return false;
            }
            $silent = (\fstat($handle)['mtime'] ?? 0) - $now;
            if ($silent > 0 && $silent <= self::SECONDS) {
                return true;
            }
            $me = Fork::pid() . ' ' . \md5($part);
            $lines = [$now . ' ' . $me];
            $before = false;
            foreach (\explode("\n", (string) \stream_get_contents($handle)) as $line) {
                $time = (int) $line;
                if (\abs($now - $time) >= self::SECONDS) {
                    continue;
                }
                if ($line === $time . ' ' . $me) {
                    $before = true;
                } else {
                    $lines[] = $line;
                }
            }
            if (!$before) {
                \rewind($handle);
                \ftruncate($handle, 0);
                $text = \implode("\n", $lines);
                Quiet::begin();
                if (\fwrite($handle, $text) !== \strlen($text)) {
                    // On a full disk only the file's time can be set: up to that time no process logs the line again.
                    \touch($this->file, $now + self::SECONDS);
                }
                Quiet::end();
            }

            return $before;
        } finally {
            \fclose($handle);
        }
    }
}
