<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\HttpDate;

/**
 * Reads a request, and makes from a stored page what answers it: which key it has, whether it takes a page of that age
 * (RFC 9111, section 4), and which form, range or 304 of the page it gets.
 *
 * This folder holds the page cache in two halves. This class is Serving. It stands alone, so that it can answer before the
 * application, its autoloader and Larder's other classes are loaded. Everything else is Recording: what may be stored and
 * how long, variants, purging, waiting for a builder. Recording asks this class for a request's key, and writes pages in
 * the form that this class reads.
 *
 * @phpstan-type Page array{url: string, made: int, age: int, life: int, stale: int, broken: int, strict: bool, status: int, headers: list<string>, ours: list<string>, etag: string, asked: string, modified: int, date: int, forms: array<string, int>}
 * The fast door (larder-serve.php) reads local copies of pages, in this form: the head's length in HEAD digits, the head
 * (head()), and all forms of the body. A copy under the hash of a key holds the page or, for variants, the names of the
 * fields that they depend on. It is as good as the stored page while the purge counter has the value noted in it.
 *
 * @phpstan-type Copy array{counter: int, key: string, id: string, page?: Page, vary?: list<string>}
 * @phpstan-type Constants array{format: int, counter: string, number: int, files: string, apcu: string, rules: Rules, usual: array<string, true>, unusual: array<string, true>, identity: list<string>, conditions: array<string, true>, accepted: array<string, int>, cookies: non-empty-string}
 * @phpstan-type Rules array{ignoredCookies: list<string>, varyCookies: list<string>, ignoredQuery: list<string>, ignoredFields: list<string>, clientControl: bool}
 */
final class Serve
{
    /** Changes whenever copies or constants change their form. */
    public const FORMAT = 5;

    /** Seconds that the clocks of two servers may differ. A page that is further ahead was made before a clock was set back. */
    public const SKEW = 10;

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

    /** Longer targets are not looked for: an attacker's, or an application's that nobody asks for again. */
    private const LONGEST = 2_048;

    /** Interfaces whose getallheaders() spells each field's name in one way, whoever sent it. */
    private const TELLS_FIELDS = \PHP_SAPI === 'fpm-fcgi' || \PHP_SAPI === 'cgi-fcgi';

    /** Codings that clients accept together. */
    private const SETS = ['', 'gzip', 'gzip, br', 'gzip, br, zstd'];

    /** Values of Accept-Encoding as most clients send them, and the place of what they mean in SETS. */
    private const ACCEPTED = [
        '' => 0, 'identity' => 0, 'gzip' => 1, 'gzip, deflate' => 1, 'gzip,deflate' => 1, 'deflate, gzip' => 1, 'x-gzip, gzip, deflate' => 1,
        'gzip, deflate, br' => 2, 'gzip,deflate,br' => 2, 'gzip, br' => 2, 'br, gzip' => 2, 'br,gzip' => 2, 'deflate, gzip, br' => 2,
        'gzip, deflate, br, zstd' => 3, 'deflate, gzip, br, zstd' => 3,
    ];

    /** The content codings, best first: of equally welcome ones the first is taken. */
    public const CODINGS = ['br', 'zstd', 'gzip'];

    /** Fields of a stored response that a 304 repeats (RFC 9110, section 15.4.5). */
    private const OF_NOT_MODIFIED = ['cache-control', 'content-location', 'date', 'expires', 'vary', 'cdn-cache-control', 'cache-tags', 'surrogate-key', 'cache-groups', 'no-vary-search'];

    /** Set for somebody who has identified himself in HTTP's own ways, whatever the owner ignores. */
    public const IDENTITY = ['HTTP_AUTHORIZATION', 'REDIRECT_HTTP_AUTHORIZATION', 'REDIRECT_REDIRECT_HTTP_AUTHORIZATION', 'PHP_AUTH_USER', 'PHP_AUTH_DIGEST', 'REMOTE_USER', 'REDIRECT_REMOTE_USER', 'SSL_CLIENT_S_DN'];

    /**
     * Names of variables that may say who the visitor is, so that what he gets may be his alone: fields in which applications
     * and the proxies before them have such a word, or of a program whose fields all do; and what web servers set. Not those
     * that every browser sends, nor those by which a proxy tells of each visitor's scheme or address.
     */
    public const IDENTIFIES = '/^(?:REDIRECT_)*+(?:HTTP_(?!SEC_|ACCEPT|IF_|CF_VISITOR$)(?:'
        . '(?:X_)?(?:SM|IV|OAM|CF_ACCESS|SSL_CLIENT|TAILSCALE|POMERIUM|VOUCH|SHIB)_'
        . '|.*(?:USER(?!_?AGENT|_?IP$)|MAIL|GROUP|IDENTITY|AUTH|TOKEN|JWT|CERT|SESSION|ACCOUNT|LOG[IO]N|CONSUMER|CUSTOMER|MEMBER|VISITOR|SUBJECT|PRINCIPAL|CREDENTIAL|PASSW|[CX]SRF|OIDC|SAML|CLAIM|ASSERTION|MTLS|DPOP)'
        . '|(?:.*_)?(?:UID|SID|DN|SUB|ROLES?|SSO|NONCE|API_?KEY|REMOTE_NAME)(?:_|$))'
        . '|SSL_CLIENT_|PHP_AUTH_(?:USER|DIGEST)|REMOTE_USER|REMOTE_IDENT|AUTH_USER|LOGON_USER|CERT_(?:SUBJECT|SERIALNUMBER|COOKIE)|GSS_NAME|OIDC_|MELLON_|SHIB[_-])/i';

    /** Of these variables: nginx tells a user's name always (Debian's fastcgi_params), and says NONE for a certificate's check. */
    private const NOBODY = ['', 'NONE'];

    /** Fields by which an application may be made to take another method or target than the request's. */
    public const OVERRIDES = ['HTTP_X_HTTP_METHOD_OVERRIDE', 'HTTP_X_HTTP_METHOD', 'HTTP_X_METHOD_OVERRIDE', 'HTTP_X_ORIGINAL_URL', 'HTTP_X_REWRITE_URL'];

    /**
     * Fields by which an application may be made to write another host, scheme or path into its links, or to give another form
     * or a part of the page, and says no Vary. Who sends one gets a page of his own, and everybody who sends the same: a proxy in front
     * sends the same always, and a browser none of them with a page that its user opens.
     */
    public const KEYED = [
        'HTTP_ORIGIN', 'HTTP_X_REQUESTED_WITH', 'HTTP_HX_REQUEST', 'HTTP_TURBO_FRAME', 'HTTP_X_PJAX',
        'HTTP_FORWARDED', 'HTTP_X_FORWARDED_HOST', 'HTTP_X_FORWARDED_PROTO', 'HTTP_X_FORWARDED_PROTOCOL', 'HTTP_X_FORWARDED_PORT', 'HTTP_X_FORWARDED_SCHEME', 'HTTP_X_FORWARDED_SSL',
        'HTTP_X_FORWARDED_PREFIX', 'HTTP_X_FORWARDED_SERVER', 'HTTP_X_FORWARDED_PATH', 'HTTP_X_HOST', 'HTTP_X_SCHEME', 'HTTP_X_URL_SCHEME', 'HTTP_FRONT_END_HTTPS', 'HTTP_FASTLY_SSL', 'HTTP_CLOUDFRONT_FORWARDED_PROTO', 'HTTP_CF_VISITOR',
    ];

    /**
     * The field Accept of who wants the page, as browsers and tools send it (PCRE). Who would rather have data, or takes them
     * as well, gets them from some applications that say no Vary, also in the place of an error page.
     */
    public const ACCEPT = '^$|^[*]/[*]$|^text/html(?: *, *(?:application/xhtml[+]xml|application/xml;q=0[.][0-9]+|image/[a-z0-9.+*-]+|application/signed-exchange|[*]/[*])(?:;[vq]=[b0-9.]+)*)*$';

    /** Fields by which a request asks for something else than the page as it is. */
    public const CONDITIONS = ['HTTP_IF_NONE_MATCH', 'HTTP_IF_MODIFIED_SINCE', 'HTTP_RANGE'];

    /** Fields by which a request bounds the age of what it takes. */
    public const CONTROL = ['HTTP_CACHE_CONTROL', 'HTTP_PRAGMA'];

    /** @var ?array<array-key, mixed> the request's variables by their CGI names (RFC 3875); null: those of this process's request */
    private static ?array $given = null;

    /** The directory of the fast door's constants; null: nobody has required it in this process; '': it cannot be used here. */
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
        /** @var Constants|false $constants */
        $constants = @include $place . '/constants.php';
        if (!\is_array($constants)) {
            return false;
        }
        self::$constants = $constants;
        // Whoever makes the constants touches the place. A command for another cache makes it old.
        if (\abs(\time() - (int) \filemtime($place)) > self::TRUST) {
            return false;
        }
        $counter = @\filesize($constants['counter']);
        if ($counter === false) {
            \error_clear_last();

            return false;
        }
        if (\fileinode($constants['counter']) !== $constants['number']) {
            // Another file in its place may be one of a backup, which has its copies too.
            return false;
        }
        if ($variables !== null) {
            self::$given = $variables;

            return self::answerAny($constants, $counter, self::key($constants['rules']));
        }
        if (!self::TELLS_FIELDS || !\function_exists('getallheaders')) {
            return self::answerAny($constants, $counter, self::key($constants['rules']));
        }
        /** @var array<string, string> $fields */
        $fields = \getallheaders();
        foreach ($constants['identity'] as $name) {
            if (!\in_array((string) \getenv($name), self::NOBODY, true)) {
                return false;
            }
        }
        // Most requests have none.
        $others = \array_diff_key($fields, $constants['usual']);
        if ($others !== [] && self::identity(\array_map(self::nameOf(...), \array_keys($others)), $constants['rules']['ignoredFields']) !== null) {
            return false;
        }
        $isUsual = \array_intersect_key($others, $constants['unusual']) === [];

        return ($isUsual && self::answerUsual($constants, $counter, $fields)) || self::answerAny($constants, $counter, self::keyOf($constants['rules'], $isUsual));
    }

    /**
     * What says who the visitor is.
     *
     * @param list<string> $names   of variables
     * @param list<string> $ignored fields that the owner ignores
     *
     * @return ?string a variable's name; null: nothing does
     */
    private static function identity(array $names, array $ignored): ?string
    {
        // All names at once: a call for each would take longer than the rest of a hit.
        /** @var array<string> $telling */
        $telling = \preg_grep(self::IDENTIFIES, $names) ?: [];
        foreach ($telling as $name) {
            if (!\in_array((string) self::raw($name), self::NOBODY, true) && (!self::matches($name, $ignored) || \in_array($name, self::IDENTITY, true))) {
                return $name;
            }
        }

        return null;
    }

    /** @return list<string> of the request's variables, as far as they can be known */
    private static function names(): array
    {
        if (self::$given !== null) {
            return \array_map(\strval(...), \array_keys(self::$given));
        }
        $names = \function_exists('getallheaders') ? \array_map(self::nameOf(...), \array_keys(\getallheaders())) : \array_keys(\getenv());

        return [...self::IDENTITY, ...$names];
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
            || ($accept !== '' && $accept !== '*/*' && \preg_match('~' . self::ACCEPT . '~D', $accept) !== 1)
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
            [$head, $first, $file] = self::read($constants, \hash('xxh128', self::asked($host, $target, $https, $site)));
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
     * What answerUsual() sends to whoever asks for this request's URL, by the place in SETS of the codings that he accepts.
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
        [$host, $target, $https] = [(string) self::raw('HTTP_HOST'), (string) self::raw('REQUEST_URI'), (string) self::raw('HTTPS')];
        $site = self::raw('SERVER_PORT') . ' ' . self::raw('SERVER_NAME');
        // A key of more says what answerUsual() does not look at.
        if ($page['status'] !== 200 || self::asked($host, $target, $https, $site) !== $key) {
            return [];
        }
        $given = self::$given;
        $ready = [];
        foreach (\array_slice(self::SETS, 0, \max(0, ...\array_values(self::accepted())) + 1) as $set) {
            self::$given = ['REQUEST_METHOD' => 'GET', 'HTTP_ACCEPT_ENCODING' => $set];
            [, $lines, $from, $length] = self::reply($page, -1, 'hit');
            $lines = \array_diff($lines, ['Cache-Status: Larder; hit']);
            $ready[] = \implode("\n", ["$https $host $site $target $counter", $page['made'], $page['age'], $page['life'], $entry . self::form($page['forms']), $from, $length, ...$lines]);
        }
        self::$given = $given;

        return $ready;
    }

    /**
     * How a key begins: the URL with the host as the visitor has spelled it, which an application may repeat; and in further
     * lines the server's port and name, where they are not the host's. By these the web server may have chosen another site
     * than the host's, for it believes the host of an absolute target first (RFC 9112, section 3.2.2).
     *
     * @param string $site the server's port and name, with a space between
     */
    private static function asked(string $host, string $target, string $https, string $site): string
    {
        $isPlain = $https === '' || \strcasecmp($https, 'off') === 0;
        $colon = ($host[-1] ?? '') === ']' ? false : \strrpos($host, ':');
        $own = $colon === false ? ($isPlain ? '80 ' : '443 ') . $host : \substr($host, $colon + 1) . ' ' . \substr($host, 0, $colon);

        return ($isPlain ? 'http://' : 'https://') . $host . $target . ($site === $own ? '' : "\nSERVER $site");
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
        $method = self::raw('REQUEST_METHOD');
        if ($key === null || ($method !== 'GET' && $method !== 'HEAD')) {
            return false;
        }
        $name = $base = \hash('xxh128', $key);
        [$head, $first, $file] = self::read($constants, $name);
        $copy = self::copy($head);
        if (isset($copy['vary'], $copy['counter'], $copy['key']) && $copy['counter'] === $counter && $copy['key'] === $key) {
            $key .= self::variant($copy['vary']);
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
        if ($passed < -self::SKEW) {
            return false;
        }
        if ($constants['rules']['clientControl'] ? !self::accepts($age, $page['life'], $page['strict']) : $age >= $page['life']) {
            return false;
        }
        [$status, $lines, $from, $length] = self::reply($page, $age, 'hit');
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
        $file = @\fopen($path, 'rbe');
        if ($file === false) {
            \error_clear_last();

            return ['', '', null];
        }
        $first = (string) \fread($file, self::FIRST);
        $length = (int) \substr($first, 0, self::HEAD);
        if ($length > self::FIRST - self::HEAD) {
            $first .= \stream_get_contents($file, $length);
        }
        if ((\hrtime(true) & 63) === 0) {
            // One in so many notes that the copy is used: what is used least goes first when there is no room.
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

    /** @param ?array<array-key, mixed> $variables as in $_SERVER; null: ask the web server's interface */
    public static function of(?array $variables): void
    {
        self::$given = $variables;
    }

    /**
     * A variable of the request. Naming $_SERVER makes PHP fill it, which takes longer than the rest of a hit; getenv() asks
     * the web server's interface for one (sapi_getenv(), php-src, main/SAPI.c).
     */
    public static function variable(string $name): ?string
    {
        $value = self::raw($name);

        return $value === '' ? null : $value;
    }

    /** An empty one too: the application may see a difference between a field that is empty and one that is absent. */
    private static function raw(string $name): ?string
    {
        $value = self::$given === null ? \getenv($name) : self::$given[$name] ?? null;

        return \is_string($value) ? $value : null;
    }

    /** The CGI name of a field. */
    public static function nameOf(string $field): string
    {
        return 'HTTP_' . \strtoupper(\strtr($field, '-', '_'));
    }

    /** The value of a field of the request's header, by its name in small letters. */
    public static function field(string $name): ?string
    {
        return self::variable(self::nameOf($name));
    }

    /**
     * The key of the request: all that a response without Vary could depend on.
     *
     * @param Rules   $rules
     * @param ?string $reason set where there is no key
     *
     * @return ?string null: no stored response may answer it, and its response may not be stored
     */
    public static function key(array $rules, ?string &$reason = null): ?string
    {
        $name = self::identity(self::names(), $rules['ignoredFields']);
        if ($name !== null) {
            $reason = "the visitor has identified himself ($name)";

            return null;
        }

        return self::keyOf($rules, false, $reason);
    }

    /**
     * The key of a request that says nothing of who the visitor is.
     *
     * @param Rules   $rules
     * @param bool    $isUsual the request has nothing of OVERRIDES and KEYED
     * @param ?string $reason  set where there is no key
     */
    private static function keyOf(array $rules, bool $isUsual, ?string &$reason = null): ?string
    {
        foreach ($isUsual ? [] : self::OVERRIDES as $name) {
            if (self::variable($name) !== null && !self::matches($name, $rules['ignoredFields'])) {
                $reason = "$name may change what the application does";

                return null;
            }
        }
        $cookies = self::url($rules['ignoredQuery'], $reason) === null ? null : self::cookies($rules, $reason);
        if ($cookies === null) {
            return null;
        }
        foreach ($isUsual ? [] : self::KEYED as $name) {
            $value = self::raw($name);
            if ($value !== null && !self::matches($name, $rules['ignoredFields'])) {
                $cookies .= "\n$name $value";
            }
        }
        $accept = self::variable('HTTP_ACCEPT');
        if ($accept !== null && $accept !== '*/*' && \preg_match('~' . self::ACCEPT . '~D', $accept) !== 1) {
            $cookies .= "\nHTTP_ACCEPT $accept";
        }
        [$path, $query] = \explode('?', (string) self::raw('REQUEST_URI'), 2) + [1 => null];
        $target = $path . ($query === null ? '' : self::query($query, $rules['ignoredQuery']));

        return self::asked((string) self::raw('HTTP_HOST'), $target, (string) self::raw('HTTPS'), self::raw('SERVER_PORT') . ' ' . self::raw('SERVER_NAME')) . $cookies;
    }

    /**
     * The URL that the request asks for, without the parameters that the owner ignores.
     *
     * @param list<string> $ignored
     */
    public static function url(array $ignored, ?string &$reason = null): ?string
    {
        $host = self::variable('HTTP_HOST');
        $target = self::variable('REQUEST_URI');
        if ($host === null || \preg_match('/^(?:[a-z0-9](?:[a-z0-9._-]{0,252}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/iD', $host) !== 1) {
            $reason = 'the host is none';

            return null;
        }
        if ($target === null || \strlen($target) > self::LONGEST || \preg_match('~^/[\x21\x22\x24-\x7E]*$~D', $target) !== 1) {
            $reason = 'the target is none, or longer than ' . self::LONGEST . ' bytes';

            return null;
        }
        $https = self::variable('HTTPS');
        $scheme = $https === null || \strcasecmp($https, 'off') === 0 ? 'http' : 'https';
        $host = \strtolower($host);
        if (!\str_contains($host, ':') || \preg_match('/:[0-9]+$/D', $host) !== 1) {
            // Web servers leave the port out of HTTP_HOST where they do not trust it (Debian's nginx, fastcgi_params).
            $port = self::variable('SERVER_PORT');
            $host .= $port === null || $port === ($scheme === 'http' ? '80' : '443') ? '' : ":$port";
        } else {
            $host = (string) \preg_replace(['/:0+(?=[0-9]+$)/D', $scheme === 'http' ? '/:80$/D' : '/:443$/D'], [':', ''], $host);
        }
        [$path, $query] = \explode('?', $target, 2) + [1 => null];

        return $scheme . '://' . $host . $path . ($query === null ? '' : self::query($query, $ignored));
    }

    /**
     * The part of the key that varyCookies make; '' without one of them. Null: there is a cookie that nobody knows, so the
     * page may be private.
     *
     * @param Rules $rules
     */
    private static function cookies(array $rules, ?string &$reason): ?string
    {
        $given = self::variable('HTTP_COOKIE');
        if ($given === null) {
            return '';
        }
        $vary = [];
        foreach (\explode(';', $given) as $pair) {
            [$name, $value] = \explode('=', \trim($pair), 2) + [1 => ''];
            if (($name === '' && $value === '') || self::matches($name, $rules['ignoredCookies'])) {
                continue;
            }
            if (!self::matches($name, $rules['varyCookies'])) {
                $reason = 'the visitor has a cookie that may make the page private (' . \substr((string) \preg_replace('/[^\w.-]/', '?', $name), 0, 60) . ')';

                return null;
            }
            $vary[] = "$name=$value";
        }

        // In their order: of two with one name PHP takes the first.
        return $vary === [] ? '' : "\ncookies " . \implode('; ', $vary);
    }

    /**
     * Takes the parameters that the owner ignores out of a query. What is left keeps its order and its bytes: the application
     * may see a difference in both.
     *
     * @param list<string> $ignored
     */
    public static function query(string $query, array $ignored): string
    {
        if ($ignored === []) {
            return "?$query";
        }
        $left = [];
        foreach (\explode('&', $query) as $part) {
            // A name in another spelling (%75tm_source, utm_source[]) is not taken out: it only costs an entry.
            self::matches(\explode('=', $part, 2)[0], $ignored) || $left[] = $part;
        }

        return $left === [] ? '' : '?' . \implode('&', $left);
    }

    /** @param list<string> $patterns names; a * stands for anything, and within a name for all up to the next character of the pattern */
    public static function matches(string $name, array $patterns): bool
    {
        foreach ($patterns as $pattern) {
            if ($pattern === $name) {
                return true;
            }
            $star = \strpos($pattern, '*');
            if ($star !== false && \strncmp($name, $pattern, $star) === 0
                && ($pattern[-1] === '*' || \strpbrk(\substr($name, $star), $pattern[$star + 1]) === \substr($pattern, $star + 1))) {
                return true;
            }
        }

        return false;
    }

    /**
     * What tells the variants of one key apart (RFC 9111, section 4.1): lists that differ only in their white space are the
     * same, and so are languages in another order or case, of which only the weights count (RFC 9110, section 12.5.4). Within
     * quotes and comments white space counts, and a User-Agent is no list.
     *
     * @param list<string> $fields names in small letters
     */
    public static function variant(array $fields): string
    {
        $values = '';
        foreach ($fields as $field) {
            $value = self::raw(self::nameOf($field));
            $isList = $field !== 'user-agent' && $value !== null && \strpbrk($value, '"(\\') === false;
            $value = $value === null ? "\0" : \trim($value, " \t");
            if ($isList) {
                $value = (string) \preg_replace('/[ \t]*([,;])[ \t]*/', '$1', $value);
            }
            if ($isList && $field === 'accept-language') {
                $languages = \explode(',', \strtolower($value));
                \sort($languages);
                $value = \implode(',', $languages);
            }
            $values .= "\n$field:$value";
        }

        return $values;
    }

    /**
     * Whether the request takes a stored response of this age without asking the application (RFC 9111, sections 4.2.4 and
     * 5.2.1).
     *
     * @param int  $age    seconds
     * @param int  $life   seconds
     * @param bool $strict never stale
     */
    public static function accepts(int $age, int $life, bool $strict): bool
    {
        $staleness = $age - $life;
        $given = self::variable('HTTP_CACHE_CONTROL');
        if ($given === null) {
            $pragma = self::variable('HTTP_PRAGMA');

            return $staleness < 0 && ($pragma === null || \stripos($pragma, 'no-cache') === false);
        }
        foreach (\explode(',', \strtolower($given)) as $directive) {
            [$name, $value] = \explode('=', \trim($directive), 2) + [1 => null];
            $seconds = $value === null ? null : (int) \trim($value, '" ');
            if ($name === 'no-cache' || $name === 'no-store' || ($name === 'max-age' && $age >= $seconds) || ($name === 'min-fresh' && -$staleness < $seconds)) {
                return false;
            }
            if ($name === 'max-stale' && !$strict && ($seconds === null || $staleness < $seconds)) {
                $staleness = -1;
            }
        }

        return $staleness < 0;
    }

    /**
     * What the request gets of a page: all of it or a range, in the form that it takes best, or a 304.
     *
     * @param Page   $page
     * @param string $how  the parameters of Cache-Status (RFC 9211): "hit", or "fwd=stale"
     *
     * @return array{int, list<string>, int, int} the status, the header's lines, and which bytes of all forms are the body:
     *                                            the first one and how many
     */
    public static function reply(array $page, int $age, string $how): array
    {
        $forms = $page['forms'];
        $form = self::form($forms);
        $etag = $page['etag'] === '' ? '' : self::tagOf($page['etag'], $form);
        $lines = $page['headers'];
        $isSame = $page['status'] === 200 && self::isSame($page['etag'], $etag, $page['modified'] ?: $page['date']);
        if ($isSame) {
            $lines = \array_values(\array_filter($lines, static fn(string $line): bool => \in_array(\strtolower(\substr($line, 0, (int) \strpos($line, ':'))), self::OF_NOT_MODIFIED, true)));
        }
        $etag === '' || $lines[] = "ETag: $etag";
        $age < 0 || $lines[] = "Age: $age";
        $lines[] = "Cache-Status: Larder; $how" . ($age < 0 ? '' : '; ttl=' . ($page['life'] - $age));
        if ($isSame) {
            return [304, $lines, 0, 0];
        }
        $form === '' || $lines[] = "Content-Encoding: $form";
        $from = 0;
        foreach ($forms as $name => $length) {
            if ($name === $form) {
                break;
            }
            $from += $length;
        }
        $length = $forms[$form] ?? 0;
        $status = $page['status'];
        $range = $status === 200 ? self::range($length, $etag, $page['modified'] < $page['date'] ? $page['modified'] : 0) : null;
        if ($range === []) {
            // Nothing of the page's own header: it describes the page.
            return [416, ["Content-Range: bytes */$length", 'Content-Length: 0', "Cache-Status: Larder; $how"], 0, 0];
        }
        if ($range !== null) {
            $status = 206;
            $lines = \array_values(\array_filter($lines, static fn(string $line): bool => \stripos($line, 'content-range:') !== 0));
            $lines[] = "Content-Range: bytes $range[0]-$range[1]/$length";
            $from += $range[0];
            $length = $range[1] - $range[0] + 1;
        }
        if ($status !== 204) {
            $lines[] = "Content-Length: $length";
        }

        return [$status, $lines, $from, $length];
    }

    /**
     * The form that the request takes best (RFC 9110, section 12.5.3); '' is the body as it is.
     *
     * @param array<string, int> $forms
     */
    private static function form(array $forms): string
    {
        $given = \count($forms) === 1 ? null : self::variable('HTTP_ACCEPT_ENCODING');
        if ($given === null) {
            return '';
        }
        $weights = [];
        foreach (\explode(',', \strtolower($given)) as $part) {
            $part = \explode(';', $part);
            $weight = 1.0;
            foreach (\array_slice($part, 1) as $parameter) {
                [$name, $value] = \explode('=', \trim($parameter), 2) + [1 => ''];
                if ($name === 'q') {
                    $weight = \is_numeric($value) ? (float) $value : 0.0;
                }
            }
            $weights[\trim($part[0])] = $weight;
        }
        $best = '';
        // Without a word about it, the body as it is may always be sent.
        $most = $weights['identity'] ?? 0.0;
        foreach (self::CODINGS as $coding) {
            $weight = $weights[$coding] ?? $weights['*'] ?? 0.0;
            if (isset($forms[$coding]) && $weight > 0.0 && ($weight > $most || ($best === '' && $weight === $most))) {
                [$best, $most] = [$coding, $weight];
            }
        }

        return $best;
    }

    /**
     * @param Page $page
     *
     * @return list<string> the entity tags of all its forms
     */
    public static function tags(array $page): array
    {
        return $page['etag'] === '' ? [] : \array_map(static fn(string $form): string => self::tagOf($page['etag'], $form), \array_keys($page['forms']));
    }

    /** A strong entity tag names one sequence of bytes (RFC 9110, section 8.8.3.3), so each form has its own. */
    private static function tagOf(string $etag, string $form): string
    {
        return $form === '' || \str_starts_with($etag, 'W/') ? $etag : \substr($etag, 0, -1) . "-$form\"";
    }

    /**
     * Whether the client has the response already (RFC 9110, section 13.2.2). A tag of another form is that of the same
     * response: weak comparison suffices for a GET (section 13.1.2).
     *
     * @param int $modified Unix time; of a page that does not tell it, its Date (RFC 9111, section 4.3.2)
     */
    private static function isSame(string $etag, string $tagOfForm, int $modified): bool
    {
        $given = self::variable('HTTP_IF_NONE_MATCH');
        if ($given !== null) {
            if (\trim($given) === '*') {
                return true;
            }
            \preg_match_all('~(?:W/)?("[\x21\x23-\x7E\x80-\xFF]*")~', $given, $tags);
            $weak = static fn(string $tag): string => \str_starts_with($tag, 'W/') ? \substr($tag, 2) : $tag;

            return $etag !== '' && (\in_array($weak($etag), $tags[1], true) || \in_array($weak($tagOfForm), $tags[1], true));
        }
        $given = self::variable('HTTP_IF_MODIFIED_SINCE');
        $since = $given === null ? null : self::date($given);

        return $since !== null && $modified <= $since;
    }

    private static function date(string $date): ?int
    {
        // Clients send the preferred form, and this is all that they cost.
        if (\preg_match('/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/D', $date) === 1) {
            return \strtotime($date) ?: null;
        }
        \class_exists(HttpDate::class) || require __DIR__ . '/Http/HttpDate.php';

        return HttpDate::parse($date);
    }

    /**
     * The first and the last byte that the request wants; empty: there are no such bytes; null: it gets all
     * (RFC 9110, section 14.2). Several ranges are answered by all.
     *
     * @return array{}|array{int, int}|null
     */
    private static function range(int $length, string $etag, int $modified): ?array
    {
        $given = self::variable('HTTP_RANGE');
        if ($given === null || \preg_match('/^bytes=(\d{0,15})-(\d{0,15})$/iD', \trim($given), $range) !== 1 || $range[1] . $range[2] === '' || self::variable('REQUEST_METHOD') !== 'GET') {
            return null;
        }
        $if = self::variable('HTTP_IF_RANGE');
        if ($if !== null && ($if[0] === '"' ? $if !== $etag : $modified === 0 || self::date($if) !== $modified)) {
            return null;
        }
        if ($range[1] === '') {
            return (int) $range[2] === 0 || $length === 0 ? [] : [\max(0, $length - (int) $range[2]), $length - 1];
        }
        $first = (int) $range[1];
        $last = $range[2] === '' ? $length - 1 : \min($length - 1, (int) $range[2]);
        if ($range[2] !== '' && (int) $range[2] < $first) {
            return null;
        }

        return $first >= $length ? [] : [$first, $last];
    }
}
