<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * What of a request may have changed its response and is not in its key: the response is then not stored. A stored page may
 * answer such a request, so a hit does not pay for looking.
 */
final class Unkeyed
{
    /** By these, applications and the proxies before them identify a visitor in other ways than HTTP's own. */
    private const IDENTITY = [
        'HTTP_PROXY_AUTHORIZATION', 'HTTP_X_API_KEY', 'HTTP_X_AUTH_TOKEN', 'HTTP_X_ACCESS_TOKEN', 'HTTP_X_WP_NONCE', 'HTTP_X_CSRF_TOKEN', 'HTTP_X_XSRF_TOKEN',
        'HTTP_X_REMOTE_USER', 'HTTP_X_FORWARDED_USER', 'HTTP_X_FORWARDED_EMAIL', 'HTTP_X_FORWARDED_ACCESS_TOKEN', 'HTTP_X_AUTH_REQUEST_USER',
        'HTTP_CF_ACCESS_JWT_ASSERTION', 'HTTP_X_AMZN_OIDC_DATA', 'HTTP_X_MS_CLIENT_PRINCIPAL', 'HTTP_X_GOOG_IAP_JWT_ASSERTION',
    ];

    /** From these, applications have taken a host or a path for their links, and nobody else sends them. */
    private const ORIGIN = ['HTTP_X_FORWARDED_URI', 'HTTP_X_HTTP_HOST_OVERRIDE', 'HTTP_X_ORIGINAL_HOST', 'HTTP_X_BACKEND_HOST', 'HTTP_X_PROXY_URL', 'HTTP_BASE_URL', 'HTTP_REQUEST_URI', 'HTTP_URL'];

    /** Addresses, which some applications print: they cannot be in the key, but must be addresses. */
    private const ADDRESSES = ['HTTP_X_FORWARDED_FOR', 'HTTP_X_REAL_IP', 'HTTP_CLIENT_IP', 'HTTP_X_CLIENT_IP', 'HTTP_TRUE_CLIENT_IP', 'HTTP_CF_CONNECTING_IP'];

    /**
     * Why the response may be another one than the key's; null: nothing speaks for it.
     *
     * @param list<string> $ignored parameters of the query
     */
    public static function reason(array $ignored): ?string
    {
        $query = \explode('?', Serve::variable('REQUEST_URI') ?? '', 2)[1] ?? '';
        if (Serve::query($query, $ignored) !== "?$query" && \preg_match('/[<>"\'`\\\\\x00-\x1F]/', \rawurldecode($query)) === 1) {
            // The application does not see it, unless by filter_input(), which knows the request as it came.
            return 'an ignored parameter is no name of a campaign';
        }
        foreach (self::IDENTITY as $name) {
            if (Serve::variable($name) !== null) {
                return "the visitor has identified himself ($name)";
            }
        }
        foreach (self::ORIGIN as $name) {
            if (Serve::variable($name) !== null) {
                return "$name may change what the application does";
            }
        }
        foreach (self::ADDRESSES as $name) {
            if (\preg_match('/^[0-9a-f:., \[\]"]*$/iD', Serve::variable($name) ?? '') !== 1) {
                return "$name is no address";
            }
        }
        // RFC 9110, section 9.3.1: a GET's content means nothing. Applications read it all the same.
        $length = Serve::variable('CONTENT_LENGTH') ?? Serve::variable('HTTP_CONTENT_LENGTH') ?? '0';

        return $length !== '0' || Serve::variable('HTTP_TRANSFER_ENCODING') !== null ? 'the request has a body' : null;
    }
}
