<?php

declare(strict_types=1);

namespace Larder\WordPress;

/**
 * What wp-admin says of the drop-in to those who may change it: once what was done; and, where plugins are managed, what
 * is in the way, with a button.
 */
final class Notices
{
    public const ACTION = 'larder_enable';

    private const SCREENS = ['plugins', 'plugins-network', 'tools_page_larder', 'settings_page_larder-network'];

    public static function show(): void
    {
        if (!\current_user_can(self::capability())) {
            return;
        }
        $notice = Notes::all()['notice'] ?? null;
        if ($notice !== null) {
            Notes::put(['notice' => null]);
            self::box($notice[0] ? 'success' : 'error', $notice[1]);
        }
        if (\in_array(\get_current_screen()?->id, self::SCREENS, true)) {
            self::state(DropIn::here());
        }
    }

    /** The button was pressed. */
    public static function posted(): void
    {
        if (!\current_user_can(self::capability())) {
            \wp_die(\esc_html__('Sorry, you are not allowed to do that.', 'larder'), '', ['response' => 403]);
        }
        \check_admin_referer(self::ACTION);
        $dropIn = DropIn::here();
        $name = $dropIn->foreignName();
        $problem = Activation::enable(true);
        Activation::tell($problem);
        if ($problem === '' && $name !== '') {
            $done = Notes::all()['notice'][1] ?? '';
            /* translators: 1: name of a plugin, 2: path of a file */
            $aside = \sprintf(\__('Larder keeps a copy of the drop-in of %1$s as %2$s, and removes it when you delete Larder. Larder does not put it back, because that cache holds old values.', 'larder'), $name, $dropIn->backup());
            Notes::put(['notice' => [true, $done . ' ' . $aside]]);
        }
        \wp_safe_redirect(\wp_get_referer() ?: \self_admin_url('plugins.php'));
        exit;
    }

    private static function state(DropIn $dropIn): void
    {
        $state = $dropIn->state();
        $rival = Notes::all()['rival'] ?? null;
        if ($state === DropInState::Foreign) {
            $text = $rival === null
                /* translators: %s: name of a plugin */
                ? \__('The object cache of this site belongs to %s, so Larder does nothing. Larder can replace it: it then keeps a copy of the other drop-in, and the cache begins empty.', 'larder')
                /* translators: %s: name of a plugin */
                : \__('%s has replaced Larder\'s object cache with its own, so Larder does nothing. Deactivate that plugin first, or it may do so again.', 'larder');
            self::box('warning', \sprintf($text, $dropIn->foreignName()), \__('Use Larder', 'larder'));
        } elseif ($state === DropInState::Missing) {
            self::box('warning', \__('Larder is active, but its drop-in is not in place, so this site has no persistent object cache.', 'larder'), \__('Switch it on', 'larder'));
        } elseif ($state === DropInState::Unwritable) {
            self::box('warning', $dropIn->advice());
        } elseif (!Site::current()->isDisabled()) {
            $cache = $GLOBALS['wp_object_cache'] ?? null;
            $problem = $cache instanceof ObjectCache ? $cache->problem() : $dropIn->idle();
            if ($problem !== '') {
                /* translators: %s: what is wrong, one or more sentences */
                self::box('error', \sprintf(\__('Larder currently keeps nothing beyond a request. %s', 'larder'), $problem));
            }
        }
    }

    private static function box(string $kind, string $text, string $button = ''): void
    {
        echo '<div class="notice notice-', \esc_attr($kind), ' is-dismissible"><p>', \esc_html($text), '</p>';
        if ($button !== '') {
            echo '<form method="post" action="', \esc_url(\admin_url('admin-post.php')), '"><p>',
            '<input type="hidden" name="action" value="', \esc_attr(self::ACTION), '">';
            \wp_nonce_field(self::ACTION);
            echo '<button type="submit" class="button button-primary">', \esc_html($button), '</button></p></form>';
        }
        echo '</div>';
    }

    private static function capability(): string
    {
        return \is_multisite() ? 'manage_network_options' : 'manage_options';
    }
}
