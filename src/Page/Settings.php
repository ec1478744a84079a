<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Config\InvalidConfiguration;
use Larder\Config\Options;
use Larder\Page\Files\FileOptions;

/**
 * The options of the page cache, checked. Every default stands here.
 *
 * @phpstan-import-type Rules from RequestKey
 */
final readonly class Settings
{
    /**
     * Cookies that scripts of analytics, consent and advertising set in the browser for themselves: no page depends on them.
     * Their owners' documentations name them. A pattern takes no more than its owner's names: others' carts may begin alike.
     */
    public const IGNORED_COOKIES = [
        '_ga', '_ga_*', '_gid', '_gat', '_gat_*', '__utma', '__utmb', '__utmc', '__utmt', '__utmv', '__utmz', // Google Analytics
        '_gcl_*', '_gac_*', '__gads', '__gpi', '__eoi', // Google Ads
        '_fbp', '_fbc', // Meta
        '_ttp', '_tt_enable_cookie', // TikTok
        '_pin_unauth', '_pinterest_ct*', // Pinterest
        'li_gc', 'li_fat_id', // LinkedIn
        '_scid', '_scid_r', '_sctr', // Snap
        '_twclid', // X
        '_uetsid', '_uetvid', '_clck', '_clsk', 'MUID', // Microsoft: Advertising, Clarity
        '_pk_*', 'mtm_consent', 'mtm_consent_removed', 'mtm_cookie_consent', 'matomo_ignore', // Matomo
        'plausible_*', // Plausible
        '_hj*', // Hotjar
        '__hstc', '__hssc', '__hssrc', '__hs_*', 'hubspotutk', // HubSpot; its members have __hsmem
        'mp_*_mixpanel', // Mixpanel; MarketPress keeps carts in mp_globalcart
        'amp_*', 'AMP_*', // Amplitude
        'ajs_*', // Segment
        '_ym_*', // Yandex
        'cto_bundle', // Criteo
        'trc_cookie_storage', // Taboola
        '__cf_bm', 'cf_clearance', // Cloudflare
        'OptanonConsent', 'OptanonAlertBoxClosed', // OneTrust
        'CookieConsent', // Cookiebot
        'cmplz_*', // Complianz
        'cookieyes-consent', 'cookielawinfo-*', 'viewed_cookie_policy', // CookieYes
        'borlabs-cookie', // Borlabs
        'real_cookie_banner*', // Real Cookie Banner
        'cookieconsent_status', // Osano's cookie banner for everybody
        'osano_*', // Osano
        'euconsent-v2', // IAB Europe
    ];

    /** Of local copies and static files. */
    private const BUDGET = 64 << 20;

    private const KNOWN = ['static', 'staticLife', 'staticHeaders', 'proxies', 'ttl', 'budget', 'wait', 'waiters', 'overflow', 'varyCookies', 'ignoredCookies', 'ignoredQuery', 'ignoredFields', 'stale', 'clientControl', 'largest', 'copies'];

    /**
     * @param ?int   $ttl     seconds that a page is fresh which says nothing about it; null: such a page is not stored
     * @param int    $stale   seconds that a page which says nothing about it may be served stale while one request renews it
     * @param float  $wait    seconds that a visitor waits for the page that another one's request is building
     * @param ?int   $waiters who may wait at the same time on this server; null: a quarter of php-fpm's workers of this user, else 4
     * @param bool   $isBusy  a visitor over that number gets a 503 at once (overflow: busy) and does not wait like the others
     * @param int    $largest bytes of a page; longer ones are not stored
     * @param int    $budget  bytes of all local copies; the web server's files may take as many
     * @param string $copies  where the local copies of larder-serve.php lie: "files", or "apcu"
     * @param Rules  $rules
     * @param array<array-key, mixed> $given the options as the owner gave them
     * @param ?FileOptions $files   null: the web server sends no pages by itself
     * @param ?Proxies     $proxies null: there are none
     */
    private function __construct(
        public ?int $ttl,
        public int $stale,
        public float $wait,
        public ?int $waiters,
        public bool $isBusy,
        public int $largest,
        public int $budget,
        public string $copies,
        public array $rules,
        public array $given,
        public ?FileOptions $files,
        public ?Proxies $proxies,
    ) {}

    /**
     * @param array<array-key, mixed> $options
     *
     * @throws InvalidConfiguration
     */
    public static function from(array $options): self
    {
        InvalidConfiguration::refuseUnknown($options, self::KNOWN);
        $overflow = $options['overflow'] ?? 'wait';
        if ($overflow !== 'wait' && $overflow !== 'busy') {
            throw InvalidConfiguration::choice('overflow', \is_string($overflow) ? $overflow : \get_debug_type($overflow), ['wait', 'busy']);
        }
        $wait = $options['wait'] ?? 10;
        if ((!\is_int($wait) && !\is_float($wait)) || $wait < 0 || !\is_finite((float) $wait)) {
            throw InvalidConfiguration::seconds('wait', $wait, '10');
        }
        $copies = $options['copies'] ?? 'files';
        if ($copies !== 'files' && $copies !== 'apcu') {
            throw InvalidConfiguration::choice('copies', \is_string($copies) ? $copies : \get_debug_type($copies), ['files', 'apcu']);
        }
        $clientControl = $options['clientControl'] ?? true;
        if (!\is_bool($clientControl)) {
            throw InvalidConfiguration::flag('clientControl', $clientControl);
        }

        $budget = isset($options['budget']) ? Options::size('budget', $options['budget']) : self::BUDGET;
        // Half of it is for the web server's files.
        $budget = isset($options['static']) ? $budget >> 1 : $budget;

        return new self(
            self::whole($options, 'ttl', null),
            self::whole($options, 'stale', 0) ?? 0,
            (float) $wait,
            self::whole($options, 'waiters', null),
            $overflow === 'busy',
            \max(1, self::whole($options, 'largest', 8 << 20) ?? 0),
            $budget,
            $copies,
            [
                'ignoredCookies' => self::names($options, 'ignoredCookies', self::IGNORED_COOKIES),
                'varyCookies' => self::names($options, 'varyCookies', []),
                'ignoredQuery' => self::names($options, 'ignoredQuery', []),
                'ignoredFields' => self::fields($options),
                'clientControl' => $clientControl,
            ],
            $options,
            \array_key_exists('static', $options) || isset($options['staticLife']) || isset($options['staticHeaders']) ? FileOptions::from($options, $budget) : null,
            ($options['proxies'] ?? []) === [] ? null : Proxies::from($options['proxies']),
        );
    }

    /** @param array<array-key, mixed> $options */
    private static function whole(array $options, string $name, ?int $default): ?int
    {
        $value = $options[$name] ?? $default;
        if ($value !== null && (!\is_int($value) || $value < 0)) {
            throw InvalidConfiguration::number($name, $value, 0, \PHP_INT_MAX, '60');
        }

        return $value;
    }

    /**
     * @param array<array-key, mixed> $options
     * @param list<string>            $default
     *
     * @return list<string>
     */
    private static function names(array $options, string $name, array $default): array
    {
        if (!isset($options[$name])) {
            return $default;
        }
        $value = $options[$name];
        $names = \is_array($value) ? \array_values(\array_filter($value, static fn(mixed $one): bool => \is_string($one) && $one !== '')) : null;
        if ($names === null || \count($names) !== \count((array) $value)) {
            throw InvalidConfiguration::wrongType($name, 'a list of names, in which a * at the end stands for anything', $value);
        }

        return $names;
    }

    /**
     * @param array<array-key, mixed> $options
     *
     * @return list<string> the CGI names of fields that the owner ignores
     */
    private static function fields(array $options): array
    {
        $names = self::names($options, 'ignoredFields', []);
        foreach ($names as $name) {
            // Only a "*" at the end stands for anything, and not alone: an application needs the host.
            if (\preg_match('/^[A-Za-z0-9_-]+\*?$/D', $name) !== 1) {
                throw InvalidConfiguration::wrongType('ignoredFields', 'a list of names of fields, in which a * at the end stands for anything', $name);
            }
        }

        return $names === [] ? [] : \array_map(RequestKey::nameOf(...), $names);
    }
}
