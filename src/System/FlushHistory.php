<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * The last flushes of a cache on this server, and who asked for each: a file of a line of JSON each, beside the cache.
 *
 * It means to name no secret: of a URL it keeps the path, of a command line the names of options and the words that do not look like
 * a secret; a password that looks like a word stays. What it says of a request is the visitor's: code that prints it must expect anything.
 */
final readonly class FlushHistory
{
    /** How many are shown; and lines of the file, before older ones are dropped. */
    public const MOST = 200;
    private const LINES = 2 * self::MOST;

    /** Bytes of the file, of which more are not read; a larger one is begun anew. */
    private const LARGEST = 1_048_576;

    /** What an argument may not be: a token by its prefix (of GitHub, of AWS), or by letters and digits in one long word. */
    private const TOKEN = '~^gh[a-z]_|^A[KS]IA[A-Z0-9]{16}$|^(?=\D*\d)(?=[^a-z]*[a-z])[^/.]{21,}$~i';

    /** Bytes of each text. */
    private const LONGEST = 300;

    /** Seconds that a flush waits for another's line. */
    private const PATIENCE = 0.25;
    private const TRIES = 5;

    public function __construct(private string $path) {}

    /**
     * Notes a flush that the caller's caller, or who called that, has asked for.
     *
     * @param string $group '': everything
     */
    public function note(string $group, bool $isDone): void
    {
        $line = \json_encode([
            'time' => \time(),
            'group' => self::short($group),
            'done' => $isDone,
            'caller' => self::short(self::caller()),
            'request' => self::short(self::request()),
            'user' => Ownership::name(Ownership::user()),
        ], \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE | \JSON_PARTIAL_OUTPUT_ON_ERROR);
        Quiet::call(fn() => $this->append((string) $line));
    }

    /** @return list<array{time: int, group: string, done: bool, caller: string, request: string, user: string}> the last one first */
    public function last(): array
    {
        \clearstatcache(true, $this->path);
        $content = Quiet::call(fn(): string => Ownership::status($this->path) === null
            ? ''
            : (string) \file_get_contents($this->path, false, null, \max(0, (int) \filesize($this->path) - self::LARGEST), self::LARGEST));
        $flushes = [];
        foreach (\array_reverse(\explode("\n", $content)) as $line) {
            $flush = \json_decode($line, true);
            if (!\is_array($flush)) {
                // Its process was killed in the middle of it; or there is none.
                continue;
            }
            $text = static fn(string $name): string => \is_string($flush[$name] ?? null) ? $flush[$name] : '';
            $flushes[] = [
                'time' => \is_int($flush['time'] ?? null) ? $flush['time'] : 0,
                'group' => $text('group'),
                'done' => ($flush['done'] ?? null) === true,
                'caller' => $text('caller'),
                'request' => $text('request'),
                'user' => $text('user'),
            ];
        }

        return \array_slice($flushes, 0, self::MOST);
    }

    private function append(string $line): void
    {
        for ($try = 0; $try < self::TRIES; $try++) {
            $file = FileLock::file($this->path);
            if ($file === null || !FileLock::take($file, self::PATIENCE)) {
                return;
            }
            \clearstatcache();
            if (!\is_file($this->path) || \fileinode($this->path) !== (\fstat($file)['ino'] ?? 0)) {
                // Another process has put a shorter one in its place.
                continue;
            }
            $isLarge = (\fstat($file)['size'] ?? 0) > self::LARGEST;
            $content = $isLarge ? '' : (string) \stream_get_contents($file);
            if (!$isLarge && \substr_count($content, "\n") < self::LINES) {
                \fwrite($file, ($content === '' || \str_ends_with($content, "\n") ? '' : "\n") . $line . "\n");

                return;
            }
            $kept = $isLarge ? [] : \array_slice(\explode("\n", \rtrim($content, "\n")), 1 - self::MOST);
            $new = FileLock::file($this->path . '-new');
            $text = \implode("\n", [...$kept, $line]) . "\n";
            $new !== null && \ftruncate($new, 0) && \fwrite($new, $text) === \strlen($text) && \rename($this->path . '-new', $this->path);

            return;
        }
    }

    /** Where the application's code has asked for it: the innermost line that is neither Larder's nor a library's; of all others, the first that is not Larder's. */
    private static function caller(): string
    {
        $frames = \function_exists('debug_backtrace') ? \debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 60) : [];
        $first = '';
        foreach ($frames as $i => $frame) {
            // It was called in the function that the next one names.
            $in = $frames[$i + 1] ?? ['function' => ''];
            if (!isset($frame['file']) || \str_starts_with($in['class'] ?? '', 'Larder\\') || \str_starts_with($in['function'], 'wp_cache_')) {
                continue;
            }
            $place = $frame['file'] . ':' . ($frame['line'] ?? 0);
            if (!\str_contains(\strtr($frame['file'], '\\', '/'), '/vendor/')) {
                return $place;
            }
            $first = $first === '' ? $place : $first;
        }

        return $first;
    }

    private static function request(): string
    {
        $uri = $_SERVER['REQUEST_URI'] ?? null;
        if (\PHP_SAPI !== 'cli' && \PHP_SAPI !== 'phpdbg' && \is_string($uri)) {
            $method = \is_string($_SERVER['REQUEST_METHOD'] ?? null) ? $_SERVER['REQUEST_METHOD'] : '';
            // A request to a proxy names a server too, and may name a user and a password.
            $path = (string) \preg_replace('~^[a-z][a-z0-9+.-]*://[^/?#]*~i', '', \substr($uri, 0, (int) \strcspn($uri, '?#')));

            return "$method $path";
        }
        $shown = [];
        $isValue = false;
        foreach (\is_array($_SERVER['argv'] ?? null) ? \array_values($_SERVER['argv']) : [] as $i => $word) {
            $word = \is_string($word) ? $word : '';
            if ($i > 0 && \str_starts_with($word, '-')) {
                // -pSECRET is an option with its value, too.
                $name = \substr($word, 0, \str_starts_with($word, '--') ? (int) \strcspn($word, '=:') : 2);
                $shown[] = $name === $word ? $word : $name . '…';
                // What follows may be its value, unless it switches something off.
                $isValue = $name === $word && !\str_starts_with($word, '--no-');
            } else {
                $shown[] = $i > 0 && ($isValue || \preg_match('~[=@]|://~', $word) === 1 || \preg_match(self::TOKEN, $word) === 1) ? '…' : $word;
                $isValue = false;
            }
        }

        return \implode(' ', $shown);
    }

    private static function short(string $text): string
    {
        return \strlen($text) > self::LONGEST ? \substr($text, 0, self::LONGEST) . '…' : $text;
    }
}
