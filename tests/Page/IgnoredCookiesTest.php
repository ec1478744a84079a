<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Page\Files\Patterns;
use Larder\Page\RequestKey;
use Larder\Page\Settings;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** The cookies that no page depends on by default, beside those of the most used shops and systems, which make a page private. */
#[CoversClass(Settings::class)]
final class IgnoredCookiesTest extends TestCase
{
    private const HASH = '0123456789abcdef0123456789abcdef';

    /** Of carts, logins and sessions, by who sets them. */
    private const PRIVATE = [
        'WordPress' => ['wordpress_' . self::HASH, 'wordpress_logged_in_' . self::HASH, 'wordpress_sec_' . self::HASH, 'wordpress_test_cookie', 'wp-postpass_' . self::HASH, 'wp-settings-1', 'comment_author_' . self::HASH, 'wp-resetpass-' . self::HASH],
        'WooCommerce' => ['woocommerce_cart_hash', 'woocommerce_items_in_cart', 'woocommerce_recently_viewed', 'wp_woocommerce_session_' . self::HASH, 'store_notice' . self::HASH],
        'other shops in WordPress' => ['mp_globalcart_' . self::HASH, 'mp_globalcart', 'mp_shipping_info', 'mp_cart_data', 'edd_items_in_cart', 'edd_cart_messages', 'wp_edd_session_1', 'wpsc_customer_cookie_' . self::HASH, 'it_exchange_session_' . self::HASH, 'wp-give_session_' . self::HASH, 'jigoshop_cart', 'surecart_session', 'cart66_id'],
        'members of WordPress sites' => ['mepr_session', 'pmpro_visit', 'wishlist_member', 'bp-activity-oldestpage', 'bp_completed_create_steps', 's2member_orig'],
        'Shopify' => ['cart', 'cart_sig', 'cart_currency', 'secure_customer_sig', '_secure_session_id', 'storefront_digest', '_shopify_essential', 'customer_auth_provider', '_cmp_a', 'localization'],
        'Magento' => ['PHPSESSID', 'frontend', 'frontend_cid', 'adminhtml', 'X-Magento-Vary', 'private_content_version', 'mage-cache-sessid', 'mage-messages', 'form_key', 'section_data_ids', 'persistent_shopping_cart', 'external_no_cache', 'store'],
        'PrestaShop' => ['PrestaShop-' . self::HASH, 'psAdmin', 'PHPSESSID'],
        'OpenCart' => ['OCSESSID', 'currency', 'language', 'default'],
        'Shopware' => ['session-1', 'session-', 'sw-cache-hash', 'sw-states', 'sw-currency', 'x-cache-context-hash', '__csrf_token-1', 'slt', 'nocache'],
        'BigCommerce' => ['SHOP_SESSION_TOKEN', 'SHOP_TOKEN', 'fornax_anonymousId', 'SHOP_ORDER_TOKEN', 'STORE_VISITOR'],
        'Squarespace and Wix' => ['CART', 'hasCart', 'Crumb', 'crumb', 'SiteUserSecureAuthToken', 'siteUserCrumb', 'svSession', 'hs', 'smSession', 'XSRF-TOKEN'],
        'other shops' => ['osCsid', 'osCAdminID', 'zenid', 'sid', 'sid_key', 'sid_customer_abc', 'Nop.customer', '.Nop.Customer', 'xid', 'cart_id', 'ecwid_cart', 'sylius_session', 'guest_token', 'spree_guest_token', 'saleor_token'],
        'Drupal' => ['SESS' . self::HASH, 'SSESS' . self::HASH, 'Drupal.visitor.name', 'commerce_cart'],
        'Joomla' => [self::HASH, 'joomla_user_state', 'joomla_remember_me_' . self::HASH, 'virtuemart_cart', 'hikashop_cart'],
        'TYPO3, Contao, Neos' => ['fe_typo_user', 'be_typo_user', 'Typo3InstallTool', 'FE_USER_AUTH', 'contao_session', 'Neos_Session', 'TYPO3_Flow_Session'],
        'Laravel and Symfony' => ['laravel_session', 'XSRF-TOKEN', 'remember_web_' . self::HASH, 'REMEMBERME', 'sf_redirect', 'MOCKSESSID'],
        'other frameworks' => ['sessionid', 'csrftoken', 'JSESSIONID', 'ASP.NET_SessionId', '.AspNetCore.Identity.Application', '.ASPXAUTH', '_session_id', 'connect.sid', 'CAKEPHP', 'ci_session', 'YII_CSRF_TOKEN', '_identity', 'advanced-frontend', 'rack.session', 'user_id', 'auth_token', 'token', 'jwt', 'access_token', '__session', '__Host-session', '__Secure-next-auth.session-token'],
        'forums' => ['phpbb3_abc_sid', 'phpbb3_abc_u', 'bb_sessionhash', 'bb_userid', 'xf_session', 'xf_user', 'SMFCookie1', 'mybbuser', '_t', '_forum_session', 'ips4_member_id', 'flarum_session', 'Vanilla'],
        'wikis and learning' => ['wikiSession', 'wikiUserID', 'wikiToken', 'MoodleSession', 'MOODLEID1_', 'DokuWiki', 'DW' . self::HASH],
        'HubSpot, for its members' => ['__hsmem', 'hs-membership-csrf', 'hs_langswitcher_choice', '__hsUserToken'],
        'who identifies visitors before the site' => ['CF_Authorization', 'AWSELBAuthSessionCookie-0', '_oauth2_proxy', 'authelia_session', 'mod_auth_openidc_session', '_shibsession_1', 'SMSESSION', 'MATOMO_SESSID', '_pinterest_sess', 'li_at', 'auth_session', 'amplify-session'],
    ];

    /** Of scripts of analytics, consent and advertising, as their documentations name them. */
    private const HARMLESS = ['_ga', '_ga_ABC', '_gid', '__utmz', '_gcl_au', '_fbp', '_pinterest_ct_ua', '_uetsid', '_clck', '_pk_id.1.1fff', 'mtm_consent', '_hjSessionUser_1', '__hstc', '__hssc', '__hs_opt_out', 'hubspotutk', 'mp_' . self::HASH . '_mixpanel', 'amp_0123ab', 'AMP_0123456789', 'AMP_MKTG_0123456789', 'ajs_anonymous_id', '_ym_uid', '__cf_bm', 'OptanonConsent', 'CookieConsent', 'cmplz_marketing', 'osano_consentmanager'];

    /** @return iterable<string, array{string, bool}> */
    public static function cookies(): iterable
    {
        foreach (self::PRIVATE as $owner => $names) {
            foreach ($names as $name) {
                yield "$owner: $name" => [$name, false];
            }
        }
        foreach (self::HARMLESS as $name) {
            yield $name => [$name, true];
        }
        foreach (['mp_mixpanel', 'mp__mixpane', 'mp_a_mixpanels', 'mp_a_b_mixpanel', 'xmp_a_mixpanel', 'mp_globalcart_mixpanelx'] as $name) {
            yield "like Mixpanel's: $name" => [$name, false];
        }
    }

    /** The same for PHP and for the web servers. */
    #[DataProvider('cookies')]
    public function testACookieOfAShopOrALoginIsNotIgnored(string $name, bool $isIgnored): void
    {
        $pattern = (new Patterns(Settings::IGNORED_COOKIES, [], []))->cookies;

        self::assertSame($isIgnored, RequestKey::matches($name, Settings::IGNORED_COOKIES));
        self::assertSame($isIgnored ? 1 : 0, \preg_match("~$pattern~D", "_gid=1; $name=value; _ga=2"));
    }
}
