<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\WordPress\Page\Purge;

/** What the page's buttons do, and what is said of it afterwards. */
final class Flush
{
    public const ACTION = 'larder_flush';

    /** In the address after the redirect: which of the texts below is shown. Nothing else of it is. */
    public const NOTICE = 'larder-notice';

    private const WHAT = ['site', 'group', 'network', 'pages', 'all-pages', 'address'];

    /** A form was sent: asks who by, does it, and sends the browser back. */
    public static function posted(): void
    {
        $what = self::field('what');
        $network = $what === 'network' || $what === 'all-pages';
        if (!\in_array($what, self::WHAT, true) || !\current_user_can(Admin::capability($network))) {
            \wp_die(\esc_html__('Sorry, you are not allowed to do that.', 'larder'), '', ['response' => 403]);
        }
        \check_admin_referer(self::ACTION . '-' . $what);
        \wp_safe_redirect(\add_query_arg(self::NOTICE, self::flush($what) ? $what : 'failed', Admin::url($network)));
        exit;
    }

    /**
     * Prints a form with one button.
     *
     * @param ?\Closure(): void $fields prints what else it has
     */
    public static function form(string $what, string $label, ?\Closure $fields = null, bool $isMain = false): void
    {
        echo '<form method="post" action="', \esc_url(\admin_url('admin-post.php')), '" class="larder-flush">',
        '<input type="hidden" name="action" value="', \esc_attr(self::ACTION), '">',
        '<input type="hidden" name="what" value="', \esc_attr($what), '">',
        // Not wp_nonce_field(): its id would be on the page once a form.
        '<input type="hidden" name="_wpnonce" value="', \esc_attr(\wp_create_nonce(self::ACTION . '-' . $what)), '">';
        $fields === null || $fields();
        echo '<button type="submit" class="', \esc_attr($isMain ? 'button button-primary' : 'button'), '">', \esc_html($label), '</button></form>';
    }

    /** @return ?array{'success'|'error', string} the kind of notice, and what it says */
    public static function notice(): ?array
    {
        // phpcs:ignore WordPress.Security.NonceVerification -- chooses a text, changes nothing
        return match ($_GET[self::NOTICE] ?? '') {
            'site' => ['success', \__('The cache of this site was flushed. It fills again as visitors load pages.', 'larder')],
            'group' => ['success', \__('The group was flushed.', 'larder')],
            'network' => ['success', \__('The cache of all sites was flushed. It fills again as visitors load pages.', 'larder')],
            'pages' => ['success', \__('The stored pages of this site are gone. WordPress builds each anew for its next visitor.', 'larder')],
            'all-pages' => ['success', \__('The stored pages of all sites are gone. WordPress builds each anew for its next visitor.', 'larder')],
            'address' => ['success', \__('What was stored for that address is gone. WordPress builds the page anew for its next visitor.', 'larder')],
            'failed' => ['error', \__('Nothing was flushed: no cache is in use, what you entered is nothing of this site, or Larder cannot write to its store.', 'larder')],
            default => null,
        };
    }

    private static function flush(string $what): bool
    {
        $cache = Admin::cache();
        $group = \trim(self::field('group'));

        return match (true) {
            $cache === null || $cache->larder() === null, $what === 'group' && $group === '' => false,
            $what === 'site' => $cache->flush(),
            $what === 'group' => $cache->flush_group($group),
            $what === 'pages' => Purge::site(),
            $what === 'all-pages' => Purge::all(),
            $what === 'address' => Purge::address(\trim(self::field('address'))),
            default => $cache->flush_network(),
        };
    }

    private static function field(string $name): string
    {
        // phpcs:ignore WordPress.Security.NonceVerification, WordPress.Security.ValidatedSanitizedInput -- posted() asks for the nonce that this chooses; the name of a group may be any text, and is unslashed below
        $value = $_POST[$name] ?? '';

        return \is_string($value) ? \wp_unslash($value) : '';
    }
}
