<?php

declare(strict_types=1);

namespace Larder\Page;

/** This process's request and response, as PHP's interface to the web server has them. */
final class Sapi
{
    /** What ends a request before its script ends. */
    private const FINISH = ['fastcgi_finish_request', 'litespeed_finish_request'];

    /** Of a response that is one visitor's. */
    private const IS_PRIVATE = 'Cache-Control: private';

    public static function send(Reply $reply): void
    {
        self::setHeader($reply);
        echo $reply->body;
    }

    /** Replaces status and header. */
    public static function setHeader(Reply $reply): void
    {
        if (!\in_array(\ini_get('zlib.output_compression'), ['', '0', false], true) && isset($reply->fields()['content-length'])) {
            // The body has its form already.
            \ini_set('zlib.output_compression', '0');
        }
        \header_remove();
        foreach ($reply->lines as $line) {
            // With the status: http_response_code() alone leaves a status line that the application has set, and Location or
            // WWW-Authenticate would set a status by themselves (php-src, main/SAPI.c).
            \header($line, false, $reply->status);
        }
    }

    /** Takes out of the header what no client behind the page cache understands. */
    public static function setOutward(): void
    {
        $lines = \headers_list();
        $outward = Reply::outward($lines);
        $changed = \array_unique(\array_map(Reply::name(...), \array_diff($lines, $outward)));
        \array_map(\header_remove(...), $changed);
        foreach ($outward as $line) {
            \in_array(Reply::name($line), $changed, true) && \header($line, false);
        }
    }

    /** The response as the script has made it until now. */
    public static function response(string $body): Reply
    {
        $lines = [...\headers_list(), ...self::ofSession(false)];
        $status = self::statusOf($lines) ?? \http_response_code();
        $names = \array_map(Reply::name(...), $lines);
        $type = \ini_get('default_mimetype');
        if (!\in_array('content-type', $names, true) && \is_string($type) && $type !== '' && $status !== 304) {
            // PHP adds it when it sends the header (SAPI.c, sapi_get_default_content_type()).
            $charset = \ini_get('default_charset');
            $lines[] = "Content-Type: $type" . ($charset === '' || $charset === false || !\str_starts_with($type, 'text/') ? '' : "; charset=$charset");
        }

        return new Reply(\is_int($status) ? $status : 200, $lines, $body);
    }

    /**
     * The status that the application has set by a field: CGI's web servers take it for the response's, whatever
     * http_response_code() says (RFC 3875, section 6.3.3; php-src, sapi/fpm/fpm/fpm_main.c).
     *
     * @param list<string> $lines
     */
    private static function statusOf(array $lines): ?int
    {
        /** @var list<string> $set */
        $set = \str_contains(\PHP_SAPI, 'cgi') ? \preg_grep('/^Status:\s*[1-5]\d\d(?!\d)/i', $lines) : [];

        return $set ? (int) \ltrim(\substr((string) \end($set), \strlen('Status:'))) : null;
    }

    /**
     * Does work that makes a response, and tells what PHP itself sends with it. Where another response was sent already, PHP
     * refuses to send anything for this one; what it has refused may have made this one private.
     *
     * @template Made
     *
     * @param \Closure(): Made $work
     *
     * @return array{Made, list<string>}
     */
    public static function watch(\Closure $work): array
    {
        // In a process of many requests an earlier one may have begun a session.
        $hadSession = \defined('SID');
        if (!\headers_sent() || \PHP_SAPI === 'cli') {
            $made = $work();

            return [$made, [...\headers_list(), ...self::ofSession($hadSession)]];
        }
        $isRefused = false;
        // php-src, main/SAPI.c (sapi_header_op()) and ext/session/session.c (php_session_start()).
        $isRefusal = static fn(string $message): bool => \str_contains($message, 'headers already sent') || \str_contains($message, 'headers have already been sent');
        $before = \error_get_last();
        $next = \set_error_handler(static function (int $level, string $message, string $file, int $line) use (&$isRefused, &$next, $isRefusal): bool {
            $isRefused = $isRefused || $isRefusal($message);

            return \is_callable($next) && $next($level, $message, $file, $line) !== false;
        });
        try {
            $made = $work();
        } finally {
            \restore_error_handler();
        }
        $last = \error_get_last();
        $isRefused = $isRefused || ($last !== $before && $isRefusal($last['message'] ?? ''));

        return [$made, $isRefused ? [self::IS_PRIVATE] : self::ofSession($hadSession)];
    }

    /**
     * The session may be over: PHP defines SID when it begins one (php_session_reset_id(), php-src, ext/session/session.c).
     *
     * @return list<string>
     */
    private static function ofSession(bool $hadSession): array
    {
        $hasSession = (\function_exists('session_id') && \session_id() !== '') || isset($_SESSION) || (\defined('SID') && !$hadSession);

        // Whatever the application was told to say of it: a session is one visitor's, with a cookie or in the page's links.
        return $hasSession ? [self::IS_PRIVATE] : [];
    }

    /**
     * Lets the application see another request, also in $_GET, $_COOKIE and $_REQUEST.
     *
     * @param array<array-key, mixed> $variables
     */
    public static function setVariables(array $variables): void
    {
        $before = [$_GET, $_COOKIE];
        $query = $variables['QUERY_STRING'] ?? '';
        $cookies = $variables['HTTP_COOKIE'] ?? '';
        if (\is_string($query) && $query !== ($_SERVER['QUERY_STRING'] ?? '')) {
            \parse_str($query, $_GET);
            unset($variables['argv'], $variables['argc'], $variables['REDIRECT_QUERY_STRING']);
        }
        if (\is_string($cookies) && $cookies !== ($_SERVER['HTTP_COOKIE'] ?? '')) {
            $_COOKIE = \array_intersect_key($_COOKIE, self::cookies($cookies));
        }
        $_SERVER = $variables;
        if ([$_GET, $_COOKIE] === $before) {
            return;
        }
        $_REQUEST = [];
        // request_order, or else variables_order: what comes last wins (php.ini).
        foreach (\str_split(\strtoupper((string) (\ini_get('request_order') ?: \ini_get('variables_order')))) as $letter) {
            $_REQUEST = (['G' => $_GET, 'P' => $_POST, 'C' => $_COOKIE][$letter] ?? []) + $_REQUEST;
        }
    }

    /** @return array<array-key, mixed> with the names that PHP makes of the cookies' as its keys */
    private static function cookies(string $header): array
    {
        $names = \array_map(static fn(string $cookie): string => \rawurlencode(\explode('=', \ltrim($cookie), 2)[0]), \explode(';', $header));
        \parse_str(\implode('&', $names), $cookies);

        return $cookies;
    }

    public static function canFinish(): bool
    {
        return \array_filter(self::FINISH, \function_exists(...)) !== [];
    }

    /** Ends the response, and leaves the process to this script. False: the visitor waits until the script ends. */
    public static function finish(): bool
    {
        foreach (self::FINISH as $function) {
            if (\function_exists($function)) {
                return $function() !== false;
            }
        }

        return false;
    }

    /** The fatal error that has ended the script; '': none has. */
    public static function failure(): string
    {
        $error = \error_get_last();
        $fatal = \E_ERROR | \E_PARSE | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;

        return match (true) {
            $error !== null && ($error['type'] & $fatal) !== 0 => 'the application ended with a fatal error',
            \connection_status() !== \CONNECTION_NORMAL && \ignore_user_abort() === 0 => 'the application was stopped before its end',
            default => '',
        };
    }
}
