<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * The sizes that a server's administrator allows at most, whatever its users configure: /etc/larder/policy.ini.
 *
 *     ; lines of "key = value", in bytes or with K, M or G
 *     segment = 16M
 *
 * Only root can have written what is obeyed: the file and its directory must be root's, and no others may write there.
 * Nothing that a user sets (environment, ini, options) leads to another file.
 *
 * To look costs more than most requests do with a cache. So each place asks where a size decides something: when a file is
 * made, or something has been written. A change holds for what a process opens from then on.
 */
final readonly class ServerPolicy
{
    public const FILE = '/etc/larder/policy.ini';

    /** What each limit is for. */
    public const KEYS = [
        'segment' => 'a segment',
        'segment_total' => 'the segments of all users',
        'disk' => 'a cache on disk',
        'queue' => 'a queue in SQLite',
    ];

    /** Bytes: nothing works in less. */
    public const LEAST = 1 << 20;

    /** Bytes of the file that are read. */
    private const LONGEST = 65_536;

    private const UNITS = ['' => 1, 'K' => 1 << 10, 'M' => 1 << 20, 'G' => 1 << 30];

    private const TYPE = 0o170000;
    private const DIRECTORY = 0o040000;
    private const PLAIN = 0o100000;
    private const OTHERS_WRITE = 0o022;

    /** @param int $owner whose file it must be; both are for tests */
    public function __construct(public string $file = self::FILE, private int $owner = 0) {}

    /**
     * The bytes asked for, or what the policy allows, if that is less.
     *
     * @param key-of<self::KEYS> $key
     */
    public function atMost(int $asked, string $key): int
    {
        // Most servers have no policy. Where PHP may not see the file, the question would warn.
        return (string) \ini_get('open_basedir') === '' && !\is_file($this->file) ? $asked : \min($asked, $this->read()[0][$key] ?? $asked);
    }

    /**
     * What the file says.
     *
     * @return array{array<key-of<self::KEYS>, int>, list<string>} bytes by key; what is wrong with the file, for its administrator
     */
    public function read(): array
    {
        return Quiet::call(function (): array {
            \clearstatcache();
            if (\lstat($this->file) === false) {
                return [[], []];
            }
            $flaw = $this->flaw(\dirname($this->file), self::DIRECTORY) ?? $this->flaw($this->file, self::PLAIN);
            $text = $flaw === null ? \file_get_contents($this->file, length: self::LONGEST) : '';
            if ($text === false) {
                $flaw = "$this->file cannot be read by " . Ownership::name(Ownership::user()) . ': type chmod 644 ' . WrongUser::quoted($this->file);
            }

            return $flaw === null ? $this->parse((string) $text) : [[], ["$flaw; nothing in it is obeyed"]];
        });
    }

    /** Whether PHP may not see the file (open_basedir), whether or not there is one. */
    public function isHidden(): bool
    {
        return (string) \ini_get('open_basedir') !== '' && Quiet::call(function (): bool {
            Quiet::$reason = '';

            return !\file_exists($this->file) && \str_contains(Quiet::$reason, 'open_basedir');
        });
    }

    /** Why another than the administrator may have written there. */
    private function flaw(string $path, int $type): ?string
    {
        $stat = \lstat($path);

        return match (true) {
            $stat === false => "$path cannot be seen",
            ($stat['mode'] & self::TYPE) !== $type => $path . ($type === self::PLAIN ? ' is no plain file' : ' is no directory'),
            $stat['uid'] !== $this->owner => "$path belongs to " . Ownership::name($stat['uid']) . ' and not to ' . Ownership::name($this->owner),
            ($stat['mode'] & self::OTHERS_WRITE) !== 0 => "$path can be written by others: type chmod go-w " . WrongUser::quoted($path),
            default => null,
        };
    }

    /** @return array{array<key-of<self::KEYS>, int>, list<string>} */
    private function parse(string $text): array
    {
        $limits = $wrong = [];
        foreach (\explode("\n", $text) as $i => $line) {
            $line = \trim($line, " \t\r");
            if ($line === '' || $line[0] === ';' || $line[0] === '#') {
                continue;
            }
            $at = "$this->file, line " . ($i + 1) . ': ';
            [$key, $value] = \array_map(static fn(string $part): string => \trim($part, " \t"), \explode('=', $line, 2)) + [1 => null];
            if ($value === null) {
                $wrong[] = $at . 'no "key = value"';
                continue;
            }
            if (!isset(self::KEYS[$key])) {
                $wrong[] = $at . 'there is no key "' . $key . '"; write ' . \implode(', ', \array_keys(self::KEYS));
                continue;
            }
            if (\preg_match('/^(\d{1,18})\s*([KMG]?)$/Di', $value, $size) !== 1) {
                $wrong[] = $at . 'the size "' . $value . '" is no number of bytes; write for example ' . $key . ' = 100M';
                continue;
            }
            $unit = self::UNITS[\strtoupper($size[2])];
            $bytes = (int) $size[1] > \intdiv(\PHP_INT_MAX, $unit) ? \PHP_INT_MAX : (int) $size[1] * $unit;
            if ($bytes < self::LEAST) {
                $wrong[] = $at . "$key = $value is less than 1M, which counts instead";
            }
            if (isset($limits[$key])) {
                $wrong[] = $at . "$key stands there twice, and the lesser counts";
            }
            $limits[$key] = \min($limits[$key] ?? \PHP_INT_MAX, \max(self::LEAST, $bytes));
        }

        return [$limits, $wrong];
    }
}
