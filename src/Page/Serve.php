<?php

declare(strict_types=1);

namespace Larder\Page;

// No autoloader is there yet. A release has all three in one file (bin/classes).
\class_exists(RequestKey::class, false) || require __DIR__ . '/RequestKey.php';
\class_exists(StoredReply::class, false) || require __DIR__ . '/StoredReply.php';

/**
 * The fast door (larder-serve.php): answers a request from a local copy of a stored page, before the application, its autoloader
 * and Larder's other classes are loaded.
 *
 * This folder holds the page cache in two halves. Serving reads a request (RequestKey) and makes from a stored page what
 * answers it (StoredReply); these two and this class stand alone. Everything else is Recording: what may be stored and how
 * long, variants, purging, waiting for a builder.
 *
 * A copy has this form: the head's length in HEAD digits, the head (head()), and all forms of the body. A copy under the hash
 * of a key holds the page or, for variants, the names of the fields that they depend on. It is as good as the stored page
 * while the purge counter has the value noted in it.
 *
 * @phpstan-import-type Page from StoredReply
 * @phpstan-import-type Rules from RequestKey
 * @phpstan-type Copy array{counter: int, key: string, id: string, page?: Page, vary?: list<string>}
 * @phpstan-type Constants array{format: int, counter: string, number: int, files: string, apcu: string, rules: Rules, usual: array<string, true>, unusual: array<string, true>, identity: list<string>, conditions: array<string, true>, accepted: array<string, int>, cookies: non-empty-string}
 */
final class Serve
{
    /** Changes whenever copies or constants change their form. */
    public const FORMAT = 5;

    /** Digits of the length of a copy's head. */
    public const HEAD = 8;

    /** Where the header begins in what is ready(). */
    private const LINES = 7;

    /** Bytes that are read of a copy first; PHP reads as many at once. */
    private const FIRST = 8_192;

    /** Of unserialize(). */
    private const NO_CLASSES = ['allowed_classes' => false];

    /** Memory that a reboot empties, as it does OPcache: copies from before a power cut are never read. */
    public const MEMORY = '/dev/shm/larder-serve-';

    /** Seconds that the constants are believed without start(): the site may open another cache by now, or have other options. */
    public const TRUST = 60;

    /** Interfaces whose getallheaders() spells each field's name in one way, whatever client sent it. */
    private const TELLS_FIELDS = \PHP_SAPI === 'fpm-fcgi' || \PHP_SAPI === 'cgi-fcgi';

    /** Codings that clients accept together. */
    private const SETS = ['', 'gzip', 'gzip, br', 'gzip, br, zstd'];

    /** Values of Accept-Encoding as most clients send them, and the place of what they mean in SETS. */
    private const ACCEPTED = [
        '' => 0, 'identity' => 0, 'gzip' => 1, 'gzip, deflate' => 1, 'gzip,deflate' => 1, 'deflate, gzip' => 1, 'x-gzip, gzip, deflate' => 1,
        'gzip, deflate, br' => 2, 'gzip,deflate,br' => 2, 'gzip, br' => 2, 'br, gzip' => 2, 'br,gzip' => 2, 'deflate, gzip, br' => 2,
        'gzip, deflate, br, zstd' => 3, 'deflate, gzip, br, zstd' => 3,
    ];

    /** Fields by which a request asks for something else than the page as it is. */
    public const CONDITIONS = ['HTTP_IF_NONE_MATCH', 'HTTP_IF_MODIFIED_SINCE', 'HTTP_RANGE'];

    /** Fields by which a request bounds the age of what it takes. */
    public const CONTROL = ['HTTP_CACHE_CONTROL', 'HTTP_PRAGMA'];

    /** The directory of the fast door's constants; null: it was not required in this process; '': it cannot be used here. */
    public static ?string $place = null;

    /** @var ?Constants as read there */
    public static ?array $constants = null;

    /**
     * The fast door: answers this process's request from a local copy, if there is one that is certainly good.
     *
     * @param ?array<array-key, mixed> $variables the request's, where start() will see others than the web server tells
     * @param ?string                  $site      in letters, digits and "-": what is to have constants of its own; null:
     *                                            the script
     *
     * @return bool whether the request is answered
     */
    public static function answer(?array $variables = null, ?string $site = null): bool
    {
        $place = self::$place = self::place($site);
        // Whatever another user has put there must not be run. The first call asks the kernel, the others know the answer.
        if ($place === '' || \headers_sent() || \is_link($place) || !\is_dir($place) || \fileowner($place) !== \posix_geteuid() || (\fileperms($place) & 0o077) !== 0) {
            return false;
        }
        // Not "@": PHP calls the application's own handler all the same, which may throw or print, and remembers the error.
        \set_error_handler(static fn(): bool => true);
        try {
            return self::answerBy($place, $variables);
        } catch (\ParseError|\TypeError) {
            // The constants are cut short or written over: start() writes them anew.
            self::$constants = null;

            return false;
        } finally {
            \restore_error_handler();
        }
    }

    /** @param ?array<array-key, mixed> $variables */
    private static function answerBy(string $place, ?array $variables): bool
    {
        // What is no PHP any longer would be printed.
        \ob_start();
        try {
            /** @var Constants|false $constants */
            $constants = include $place . '/constants.php';
        } finally {
            \ob_end_clean();
        }
        if (!\is_array($constants)) {
            return false;
        }
        self::$constants = $constants;
        // The process that makes the constants touches the place. A command for another cache makes it old.
        if (\abs(\time() - (int) \filemtime($place)) > self::TRUST) {
            return false;
        }
        $counter = \filesize($constants['counter']);
        if ($counter === false || \fileinode($constants['counter']) !== $constants['number']) {
            // Another file in its place may be one of a backup, which has its copies too.
            return false;
        }
        if ($variables !== null) {
            RequestKey::of($variables);

            return self::answerAny($constants, $counter, RequestKey::key($constants['rules']));
        }
        if (!self::TELLS_FIELDS || !\function_exists('getallheaders')) {
            return self::answerAny($constants, $counter, RequestKey::key($constants['rules']));
        }
        /** @var array<string, string> $fields */
        $fields = \getallheaders();
        foreach ($constants['identity'] as $name) {
            if (!\in_array((string) \getenv($name), RequestKey::NOBODY, true)) {
                return false;
            }
        }
        // Most requests have none.
        $others = \array_diff_key($fields, $constants['usual']);
        if ($others !== [] && RequestKey::identity(\array_map(RequestKey::nameOf(...), \array_keys($others)), $constants['rules']['ignoredFields']) !== null) {
            return false;
        }
        $isUsual = \array_intersect_key($others, $constants['unusual']) === [];

        return ($isUsual && self::answerUsual($constants, $counter, $fields)) || self::answerAny($constants, $counter, RequestKey::anonymous($constants['rules'], $isUsual));
    }

    /**
     * Answers a request that asks for no more than a page, by what is ready for it (ready()).
     *
     * @param Constants             $constants
     * @param array<string, string> $fields    of the request, which is usual
     */
    private static function answerUsual(array $constants, int $counter, array $fields): bool
    {
        $accept = $fields['Accept'] ?? '';
        $accepted = $constants['accepted'][$fields['Accept-Encoding'] ?? ''] ?? null;
        if ($accepted === null || \getenv('REQUEST_METHOD') !== 'GET' || \array_intersect_key($fields, $constants['conditions']) !== []
            || ($accept !== '' && $accept !== '*/*' && \preg_match('~' . RequestKey::ACCEPT . '~D', $accept) !== 1)
            || (isset($fields['Cookie']) && \preg_match($constants['cookies'], $fields['Cookie']) !== 1)) {
            return false;
        }
        $host = $fields['Host'] ?? '';
        $target = (string) \getenv('REQUEST_URI');
        $https = (string) \getenv('HTTPS');
        $site = \getenv('SERVER_PORT') . ' ' . \getenv('SERVER_NAME');
        $first = '';
        $file = null;
        if ($constants['apcu'] === '') {
            [$head, $first, $file] = self::read($constants, \hash('xxh128', RequestKey::asked($host, $target, $https, $site)));
            $text = \explode("\n\n", \substr($head, self::HEAD, (int) \substr($head, 0, self::HEAD)))[$accepted] ?? '';
        } else {
            $text = \function_exists('apcu_fetch') ? \apcu_fetch("$constants[apcu]$accepted $https $host $site $target") : '';
        }
        if (!\is_string($text) || !\str_starts_with($text, "$https $host $site $target $counter\n")) {
            return false;
        }
        $ready = \explode("\n", $text);
        if (\count($ready) <= self::LINES) {
            return false;
        }
        $passed = \time() - (int) $ready[1];
        $age = (int) $ready[2] + $passed;
        $ttl = (int) $ready[3] - $age;
        if ($passed < 0 || $ttl <= 0) {
            return false;
        }
        $length = (int) $ready[6];
        $body = $file === null ? \apcu_fetch($constants['apcu'] . $ready[4]) : self::inFile($file, $first, (int) $ready[5], $length);
        if (!\is_string($body) || \strlen($body) !== $length) {
            return false;
        }
        $ready[] = "Age: $age";
        $ready[] = "Cache-Status: Larder; hit; ttl=$ttl";
        self::send(200, $ready, self::LINES, $body);

        return true;
    }

    /**
     * What answerUsual() sends for this request's URL, by the place in SETS of the codings that the client accepts.
     * Each is a text of lines. First come LINES values: what the URL was made of and the counter, when the page was made, its age then, its life, the
     * name of the body's entry, and where it lies in all forms. The header follows.
     *
     * @param Page   $page
     * @param string $key   of the page
     * @param string $entry of the copy's bodies, without the form
     *
     * @return list<string>
     */
    public static function ready(array $page, string $key, int $counter, string $entry): array
    {
        [$host, $target, $https] = [(string) RequestKey::raw('HTTP_HOST'), (string) RequestKey::raw('REQUEST_URI'), (string) RequestKey::raw('HTTPS')];
        $site = RequestKey::raw('SERVER_PORT') . ' ' . RequestKey::raw('SERVER_NAME');
        // A key of more says what answerUsual() does not look at.
        if ($page['status'] !== 200 || RequestKey::asked($host, $target, $https, $site) !== $key) {
            return [];
        }
        $ready = [];
        foreach (\array_slice(self::SETS, 0, \max(0, ...\array_values(self::accepted())) + 1) as $set) {
            $given = RequestKey::of(['REQUEST_METHOD' => 'GET', 'HTTP_ACCEPT_ENCODING' => $set]);
            [, $lines, $from, $length] = StoredReply::reply($page, -1, 'hit');
            $lines = \array_diff($lines, ['Cache-Status: Larder; hit']);
            $ready[] = \implode("\n", ["$https $host $site $target $counter", $page['made'], $page['age'], $page['life'], $entry . StoredReply::form($page['forms']), $from, $length, ...$lines]);
            RequestKey::of($given);
        }

        return $ready;
    }

    /** @return array<string, int> ACCEPTED, with the sets that PHP can make here */
    public static function accepted(): array
    {
        $most = match (true) {
            !\function_exists('gzencode') => 0,
            !\function_exists('brotli_compress') => 1,
            !\function_exists('zstd_compress') => 2,
            default => 3,
        };

        return \array_map(static fn(int $set): int => \min($set, $most), self::ACCEPTED);
    }

    /**
     * @param Constants $constants
     * @param ?string   $key       of the request
     */
    private static function answerAny(array $constants, int $counter, ?string $key): bool
    {
        $method = RequestKey::raw('REQUEST_METHOD');
        if ($key === null || ($method !== 'GET' && $method !== 'HEAD')) {
            return false;
        }
        $name = $base = \hash('xxh128', $key);
        [$head, $first, $file] = self::read($constants, $name);
        $copy = self::copy($head);
        if (isset($copy['vary'], $copy['counter'], $copy['key']) && $copy['counter'] === $counter && $copy['key'] === $key) {
            $key .= RequestKey::variant($copy['vary']);
            $name = self::name($key, $base);
            [$head, $first, $file] = self::read($constants, $name);
            $copy = self::copy($head);
        }
        if (!isset($copy['page'], $copy['counter'], $copy['key']) || $copy['counter'] !== $counter || $copy['key'] !== $key) {
            return false;
        }
        $page = $copy['page'];
        $passed = \time() - $page['made'];
        $age = $page['age'] + \max(0, $passed);
        if ($passed < -StoredReply::SKEW) {
            return false;
        }
        if ($constants['rules']['clientControl'] ? !StoredReply::accepts($age, $page['life'], $page['strict']) : $age >= $page['life']) {
            return false;
        }
        [$status, $lines, $from, $length] = StoredReply::reply($page, $age, 'hit');
        if ($method === 'HEAD' || $length === 0) {
            $body = '';
        } else {
            $body = $file === null ? self::inMemory($constants['apcu'] . $name, $copy, $from, $length) : self::inFile($file, $first, $from, $length);
            if (\strlen($body) !== $length) {
                return false;
            }
        }
        self::send($status, $lines, 0, $body);

        return true;
    }

    /**
     * @param list<string> $lines
     * @param int          $first the place of the first line
     */
    private static function send(int $status, array $lines, int $first, string $body): void
    {
        if (\ini_get('zlib.output_compression') > 0) {
            // The body is compressed already where the visitor takes that.
            \ini_set('zlib.output_compression', '0');
        }
        \header_remove();
        for ($count = \count($lines); $first < $count; $first++) {
            // With the status, for Location would set one by itself (php-src, main/SAPI.c).
            \header($lines[$first], false, $status);
        }
        echo $body;
    }

    /** Where the constants of this script are; '': nowhere. The web server may tell sites of one script apart by LARDER_SITE. */
    private static function place(?string $site): string
    {
        $allowed = (string) \ini_get('open_basedir');
        if (\PHP_SAPI === 'cli' || !\function_exists('posix_geteuid') || ($allowed !== '' && \preg_match('~(?:^|:)/(?:dev/(?:shm/?)?|dev)?(?::|$)~D', $allowed) !== 1)) {
            return '';
        }

        return self::MEMORY . \posix_geteuid() . '-' . ($site ?? \hash('xxh128', \get_included_files()[0] . "\0" . \getenv('LARDER_SITE'))) . '-' . self::FORMAT;
    }

    /**
     * A copy's name. It says nothing about what is in it: that says the key there.
     *
     * @param string $base the name of the key without the variant, which decides the shard
     */
    public static function name(string $key, string $base = ''): string
    {
        $name = \hash('xxh128', $key);

        return $base === '' ? $name : $base[0] . \substr($name, 1);
    }

    /**
     * @param Constants $constants
     *
     * @return array{string, string, resource|null} the head, '' if there is none; in a file, what was read of the body, and
     *                                              the rest
     */
    private static function read(array $constants, string $name): array
    {
        if ($constants['apcu'] !== '') {
            $head = \function_exists('apcu_fetch') ? \apcu_fetch($constants['apcu'] . $name) : '';

            return [\is_string($head) ? $head : '', '', null];
        }
        $path = $constants['files'] . '/' . $name[0] . '/' . $name;
        $file = \fopen($path, 'rbe');
        if ($file === false) {
            return ['', '', null];
        }
        $first = (string) \fread($file, self::FIRST);
        $length = (int) \substr($first, 0, self::HEAD);
        if ($length > self::FIRST - self::HEAD) {
            $first .= \stream_get_contents($file, $length);
        }
        if ((\hrtime(true) & 63) === 0) {
            // One in so many notes that the copy is used: what is used least goes first when there is no room.
            // It may be removed meanwhile.
            \touch($path);
        }

        return [\substr($first, self::HEAD, $length), \substr($first, self::HEAD + $length), $file];
    }

    /**
     * The head of a copy in a file: the length of what is ready in HEAD digits, what is ready, and the copy.
     *
     * @param Copy         $copy
     * @param list<string> $ready
     */
    public static function head(array $copy, array $ready): string
    {
        $text = \implode("\n\n", $ready);

        return \sprintf('%0' . self::HEAD . 'd', \strlen($text)) . $text . \serialize($copy);
    }

    /** @return Copy|array{} empty: it cannot be read */
    public static function copy(string $head): array
    {
        // In APCu nothing stands before it.
        $text = ($head[0] ?? '') === 'a' ? $head : \substr($head, self::HEAD + (int) \substr($head, 0, self::HEAD));
        /** @var Copy|array{}|scalar|null $copy */
        $copy = $text === '' ? [] : @\unserialize($text, self::NO_CLASSES);
        if (!\is_array($copy)) {
            \error_clear_last();
            $copy = [];
        }

        return $copy;
    }

    /**
     * @param resource $file  at the end of what was read
     * @param string   $first what was read of the body
     */
    private static function inFile(mixed $file, string $first, int $from, int $length): string
    {
        $missing = $from + $length - \strlen($first);

        return $missing > 0 ? \substr($first . \stream_get_contents($file, $missing), $from) : \substr($first, $from, $length);
    }

    /**
     * In APCu each form has its own entry, so that only the one that is sent is copied.
     *
     * @param Copy $copy
     */
    private static function inMemory(string $name, array $copy, int $from, int $length): string
    {
        foreach ($copy['page']['forms'] ?? [] as $form => $size) {
            if ($from < $size) {
                $body = \apcu_fetch($name . $copy['id'] . $form);
                $body = \is_string($body) && \strlen($body) === $size ? $body : '';

                return $length === $size ? $body : \substr($body, $from, $length);
            }
            $from -= $size;
        }

        return '';
    }
}
