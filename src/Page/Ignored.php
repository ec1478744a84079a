<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * The ignored cookies and parameters of a request. The page cache takes them out of what the application sees, but no PHP code
 * can take them out of filter_input(), getenv() and getallheaders(): what may do harm there keeps the page out of the store.
 *
 * @phpstan-import-type Rules from RequestKey
 */
final class Ignored
{
    /**
     * Characters that do nothing in HTML, CSS or a script, wherever an application prints them. Not ";", which separates
     * parameters too where php.ini says so (arg_separator.input).
     */
    private const HARMLESS = '~^[A-Za-z0-9._\~\-=&%+:,|/@!?^*[\]]*$~D';

    /**
     * Why the response may have something of them that does harm; '': nothing may.
     *
     * @param Rules $rules
     */
    public static function reason(array $rules): string
    {
        $query = \explode('?', RequestKey::variable('REQUEST_URI') ?? '', 2)[1] ?? '';

        return match (true) {
            !self::isHarmless(\explode('&', $query), $rules['ignoredQuery']) => 'an ignored parameter is no plain text',
            !self::isHarmless(\explode(';', RequestKey::variable('HTTP_COOKIE') ?? ''), $rules['ignoredCookies']) => 'an ignored cookie is no plain text',
            default => '',
        };
    }

    /**
     * @param list<string> $pairs    "name=value"
     * @param list<string> $patterns of the ignored names
     */
    private static function isHarmless(array $pairs, array $patterns): bool
    {
        foreach ($pairs as $pair) {
            $pair = \trim($pair);
            if (RequestKey::matches(\explode('=', $pair, 2)[0], $patterns) && \preg_match(self::HARMLESS, \rawurldecode($pair)) !== 1) {
                return false;
            }
        }

        return true;
    }
}
