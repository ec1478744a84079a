<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * Reads a request, by the names of CGI (RFC 3875), and says which key it has: all that a response without Vary could depend on.
 * Stands alone, as Serve does.
 *
 * @phpstan-type Rules array{ignoredCookies: list<string>, varyCookies: list<string>, ignoredQuery: list<string>, ignoredFields: list<string>, clientControl: bool}
 */
final class RequestKey
{
    /** Longer targets are not looked for: an attacker's, or an application's that no visitor asks for again. */
    private const LONGEST = 2_048;

    /** Set for a visitor who has identified himself in HTTP's own ways, whatever the owner ignores. */
    public const IDENTITY = ['HTTP_AUTHORIZATION', 'REDIRECT_HTTP_AUTHORIZATION', 'REDIRECT_REDIRECT_HTTP_AUTHORIZATION', 'PHP_AUTH_USER', 'PHP_AUTH_DIGEST', 'REMOTE_USER', 'REDIRECT_REMOTE_USER', 'SSL_CLIENT_S_DN',
        'AUTH_USER', 'LOGON_USER', 'REMOTE_IDENT', 'GSS_NAME', 'SSL_CLIENT_VERIFY', 'SSL_CLIENT_M_SERIAL', 'SSL_CLIENT_CERT', 'CERT_SUBJECT', 'CERT_SERIALNUMBER', 'MELLON_NAME_ID', 'OIDC_CLAIM_sub',
        'SSL_CLIENT_FINGERPRINT', 'SSL_CLIENT_S_DN_CN', 'SSL_CLIENT_S_DN_Email', 'SSL_CLIENT_SAN_Email_0', 'OIDC_CLAIM_email', 'OIDC_access_token', 'Shib-Session-ID', 'Shib_Session_ID',
        'REDIRECT_REDIRECT_REMOTE_USER', 'REDIRECT_SSL_CLIENT_S_DN', 'REDIRECT_SSL_CLIENT_VERIFY', 'REDIRECT_OIDC_CLAIM_sub'];

    /**
     * Names of variables that may say who the visitor is, so that what he gets may be his alone: fields in which applications
     * and the proxies before them have such a word, or of a program whose fields all do; and what web servers set. Not those
     * that every browser sends, nor those by which a proxy tells of each visitor's scheme or address.
     */
    public const IDENTIFIES = '/^(?:REDIRECT_)*+(?:HTTP_(?!SEC_|ACCEPT|IF_|CF_VISITOR$)(?:'
        . '(?:X_)?(?:SM|IV|OAM|CF_ACCESS|SSL_CLIENT|TAILSCALE|POMERIUM|VOUCH|SHIB)_'
        . '|.*(?:USER(?!_?AGENT|_?IP$)|MAIL|GROUP|IDENTITY|AUTH|TOKEN|JWT|CERT|SESSION|ACCOUNT|LOG[IO]N|CONSUMER|CUSTOMER|MEMBER|VISITOR|SUBJECT|PRINCIPAL|CREDENTIAL|PASSW|[CX]SRF|OIDC|SAML|CLAIM|ASSERTION|MTLS|DPOP|BEARER|SECRET|EMPLOYEE|PERSON|MSISDN|BASKET|PERMISSION|PRIVILEGE|ENTITLEMENT|AFFILIATION)'
        . '|(?:.*_)?(?:UID|SID|DN|SUB|ROLES?|SSO|NONCE|EPPN|ADMIN|CART|(?:API|ACCESS|PRIVATE)_?KEY|REMOTE_NAME)(?:_|$))'
        . '|SSL_CLIENT_|PHP_AUTH_(?:USER|DIGEST)|REMOTE_USER|REMOTE_IDENT|AUTH_USER|LOGON_USER|CERT_(?:SUBJECT|SERIALNUMBER|COOKIE)|GSS_NAME|OIDC_|MELLON_|SHIB[_-])/i';

    /** Of these variables: nginx tells a user's name always (Debian's fastcgi_params), and says NONE for a certificate's check. */
    public const NOBODY = ['', 'NONE'];

    /** Names of variables that most requests have: none of them identifies a visitor, and none is in the key. */
    public const PLAIN = [
        'HTTP_ACCEPT' => true, 'HTTP_ACCEPT_ENCODING' => true, 'HTTP_ACCEPT_LANGUAGE' => true, 'HTTP_CACHE_CONTROL' => true, 'HTTP_CONNECTION' => true, 'HTTP_CONTENT_LENGTH' => true,
        'HTTP_CONTENT_TYPE' => true, 'HTTP_COOKIE' => true, 'HTTP_DNT' => true, 'HTTP_HOST' => true, 'HTTP_IF_MODIFIED_SINCE' => true, 'HTTP_IF_NONE_MATCH' => true, 'HTTP_PRAGMA' => true,
        'HTTP_PRIORITY' => true, 'HTTP_RANGE' => true, 'HTTP_REFERER' => true, 'HTTP_SEC_CH_UA' => true, 'HTTP_SEC_CH_UA_MOBILE' => true, 'HTTP_SEC_CH_UA_PLATFORM' => true,
        'HTTP_SEC_FETCH_DEST' => true, 'HTTP_SEC_FETCH_MODE' => true, 'HTTP_SEC_FETCH_SITE' => true, 'HTTP_SEC_FETCH_USER' => true, 'HTTP_SEC_GPC' => true, 'HTTP_TE' => true,
        'HTTP_UPGRADE_INSECURE_REQUESTS' => true, 'HTTP_USER_AGENT' => true, 'HTTP_VIA' => true, 'HTTP_X_FORWARDED_FOR' => true, 'HTTP_X_REAL_IP' => true,
        // What web servers and PHP tell of each request.
        'CONTENT_LENGTH' => true, 'CONTENT_TYPE' => true, 'DOCUMENT_ROOT' => true, 'DOCUMENT_URI' => true, 'FCGI_ROLE' => true, 'GATEWAY_INTERFACE' => true, 'HOME' => true, 'HTTPS' => true,
        'PATH' => true, 'PATH_INFO' => true, 'PHP_SELF' => true, 'QUERY_STRING' => true, 'REDIRECT_STATUS' => true, 'REMOTE_ADDR' => true, 'REMOTE_PORT' => true, 'REQUEST_METHOD' => true,
        'REQUEST_SCHEME' => true, 'REQUEST_TIME' => true, 'REQUEST_TIME_FLOAT' => true, 'REQUEST_URI' => true, 'SCRIPT_FILENAME' => true, 'SCRIPT_NAME' => true, 'SERVER_ADDR' => true,
        'SERVER_NAME' => true, 'SERVER_PORT' => true, 'SERVER_PROTOCOL' => true, 'SERVER_SOFTWARE' => true, 'USER' => true, 'argc' => true, 'argv' => true,
    ];

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

    /** @var ?array<array-key, mixed> the request's variables by their CGI names (RFC 3875); null: those of this process's request */
    private static ?array $given = null;

    /**
     * @param ?array<array-key, mixed> $variables as in $_SERVER; null: ask the web server's interface
     *
     * @return ?array<array-key, mixed> those before
     */
    public static function of(?array $variables): ?array
    {
        [$before, self::$given] = [self::$given, $variables];

        return $before;
    }

    /**
     * A variable of the request. Naming $_SERVER makes PHP fill it, which takes longer than the rest of a hit; getenv() asks
     * the web server's interface for one (sapi_getenv(), php-src, main/SAPI.c).
     */
    public static function variable(string $name): ?string
    {
        $value = self::$given === null ? \getenv($name) : self::$given[$name] ?? null;

        return \is_string($value) && $value !== '' ? $value : null;
    }

    /** An empty one too: the application may see a difference between a field that is empty and one that is absent. */
    public static function raw(string $name): ?string
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
     * @param ?string $url    of the request, where url() was asked already
     *
     * @return ?string null: no stored response may answer it, and its response may not be stored
     */
    public static function key(array $rules, ?string &$reason = null, ?string $url = null): ?string
    {
        $others = self::others();
        $name = $others === [] ? null : self::identity($others, $rules['ignoredFields']);
        if ($name !== null) {
            $reason = "the visitor has identified himself ($name)";

            return null;
        }

        // Without all variables only asking for each tells.
        $isUsual = self::$given !== null;
        foreach ($isUsual ? $others : [] as $other) {
            if (($other[0] ?? '') === 'H' && (\in_array($other, self::OVERRIDES, true) || \in_array($other, self::KEYED, true))) {
                $isUsual = false;
                break;
            }
        }

        return self::anonymous($rules, $isUsual, $reason, $url);
    }

    /**
     * The key of a request that says nothing of who the visitor is.
     *
     * @param Rules   $rules
     * @param bool    $isUsual the request has nothing of OVERRIDES and KEYED
     * @param ?string $reason  set where there is no key
     * @param ?string $url     as for key()
     */
    public static function anonymous(array $rules, bool $isUsual, ?string &$reason = null, ?string $url = null): ?string
    {
        foreach ($isUsual ? [] : self::OVERRIDES as $name) {
            if (self::variable($name) !== null && !self::matches($name, $rules['ignoredFields'])) {
                $reason = "$name may change what the application does";

                return null;
            }
        }
        $url ??= self::url($rules['ignoredQuery'], $reason);
        $cookies = $url === null ? null : self::cookies($rules, $reason);
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
     * What says who the visitor is.
     *
     * @param list<string> $names   of variables
     * @param list<string> $ignored fields that the owner ignores
     *
     * @return ?string a variable's name; null: nothing does
     */
    public static function identity(array $names, array $ignored): ?string
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

    /** @return list<string> the names of the request's variables, as far as they can be known, but for PLAIN ones */
    private static function others(): array
    {
        if (self::$given !== null) {
            return \array_map(\strval(...), \array_keys(\array_diff_key(self::$given, self::PLAIN)));
        }
        $names = \function_exists('getallheaders') ? \array_map(self::nameOf(...), \array_keys(\getallheaders())) : \array_keys(\getenv());

        return [...self::IDENTITY, ...$names];
    }

    /**
     * How a key begins: the URL with the host as the visitor has spelled it, which an application may repeat; and in further
     * lines the server's port and name, where they are not the host's. By these the web server may have chosen another site
     * than the host's, for it believes the host of an absolute target first (RFC 9112, section 3.2.2).
     *
     * @param string $site the server's port and name, with a space between
     */
    public static function asked(string $host, string $target, string $https, string $site): string
    {
        $isPlain = $https === '' || \strcasecmp($https, 'off') === 0;
        $colon = ($host[-1] ?? '') === ']' ? false : \strrpos($host, ':');
        $own = $colon === false ? ($isPlain ? '80 ' : '443 ') . $host : \substr($host, $colon + 1) . ' ' . \substr($host, 0, $colon);

        return ($isPlain ? 'http://' : 'https://') . $host . $target . ($site === $own ? '' : "\nSERVER $site");
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
     * The part of the key that varyCookies make; '' without one of them. Null: there is a cookie that no option names, so the
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
}
