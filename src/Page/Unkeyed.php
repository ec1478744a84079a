<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * What of a request may have changed its response and is not in its key: the response is then not stored. A stored page may
 * answer such a request, so a hit does not pay for looking.
 *
 * @phpstan-import-type Rules from RequestKey
 */
final class Unkeyed
{
    /**
     * Fields from which applications take a scheme, host, path or method for what they do and for their links, and those by
     * which scripts ask for a part of a page. A browser sends none with a page that its user opens.
     */
    private const ORIGIN = '/^HTTP_(?!HOST$)(?:(?:X_)?(?:FORWARDED|REWRITE|OVERRIDE)_|(?:HX|X_PJAX|X_UP|X_INERTIA)(?:_|$)|(?:.*_)?(?:ORIGINAL_|(?:SCHEME|PROTO(?:COL)?|HTTPS|PORT|HOST(?:NAME)?|(?:SERVER|SCRIPT)_NAME|PATH(?:_?BASE)?|PREFIX|BASE|ROOT|UR[IL]|METHOD|OVERRIDE)$)|WL_PROXY_SSL$)/';

    /** Addresses, which some applications print: they cannot be in the key, but must be addresses. */
    private const ADDRESSES = ['HTTP_X_FORWARDED_FOR', 'HTTP_X_ORIGINAL_FORWARDED_FOR', 'HTTP_X_REAL_IP', 'HTTP_CLIENT_IP', 'HTTP_X_CLIENT_IP', 'HTTP_TRUE_CLIENT_IP', 'HTTP_CF_CONNECTING_IP'];

    /** Names of further ones. */
    private const ADDRESS = '/(?:_|USER|CLIENT|REMOTE)IP$/';

    /**
     * Why the response may be another one than the key's; null: nothing speaks for it.
     *
     * @param Rules                  $rules
     * @param array<array-key, mixed> $variables of the request
     */
    public static function reason(array $rules, array $variables): ?string
    {
        $given = \array_map(\strval(...), \array_keys($variables));
        /** @var array<string> $origins */
        $origins = \preg_grep(self::ORIGIN, \array_diff($given, RequestKey::KEYED, self::ADDRESSES)) ?: [];
        foreach ($origins as $name) {
            if (RequestKey::variable($name) !== null && !RequestKey::matches($name, $rules['ignoredFields'])) {
                return "$name may change what the application does";
            }
        }
        /** @var array<string> $addresses */
        $addresses = \preg_grep(self::ADDRESS, $given) ?: [];
        foreach ([...\array_intersect(self::ADDRESSES, $given), ...$addresses] as $name) {
            if (\preg_match('/^[0-9a-f:., \[\]"]*$/iD', RequestKey::variable($name) ?? '') !== 1) {
                return "$name is no address";
            }
        }
        // RFC 9110, section 9.3.1: a GET's content means nothing. Applications read it all the same.
        $length = RequestKey::variable('CONTENT_LENGTH') ?? RequestKey::variable('HTTP_CONTENT_LENGTH') ?? '0';

        return $length !== '0' || RequestKey::variable('HTTP_TRANSFER_ENCODING') !== null ? 'the request has a body' : null;
    }
}
