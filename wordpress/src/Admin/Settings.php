<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\WordPress\Choices;
use Larder\WordPress\Page\Purge;
use Larder\WordPress\Page\Settings as PageSettings;

/** What can be chosen on the plugin's page, with what wp-config.php fixes shown as fixed. */
final class Settings
{
    public const ACTION = 'larder_settings';

    /** In the address after the redirect: '1' saved, else not. */
    public const NOTICE = 'larder-saved';

    public static function render(): void
    {
        $choices = Choices::all();
        [$isFixed, $pages] = PageSettings::fixed();
        $site = PageSettings::ofSite();
        echo '<h2 id="larder-settings">', \esc_html__('Settings', 'larder'), '</h2><form method="post" action="', \esc_url(\admin_url('admin-post.php')), '" class="larder-settings">',
        '<input type="hidden" name="action" value="', \esc_attr(self::ACTION), '"><input type="hidden" name="_wpnonce" value="', \esc_attr(\wp_create_nonce(self::ACTION)), '">';
        self::box('pages', \__('Store whole pages', 'larder'), $isFixed ? $site !== null : $choices['pages'], $isFixed ? 'LARDER_PAGES' : '');
        $isLifeFixed = $isFixed && ($site === null || isset($pages['ttl']));
        echo '<p><label for="larder-life">', \esc_html__('Seconds that a stored page is fresh, if nothing changes before', 'larder'), '</label> ',
        '<input type="number" id="larder-life" name="life" class="small-text" required min="', (int) Choices::SHORTEST, '" max="', (int) Choices::LONGEST, '" value="', (int) ($site->life ?? $choices['life']), '"', \disabled($isLifeFixed, true, false), '>';
        $isLifeFixed && self::because('LARDER_PAGES');
        echo '</p>';
        foreach (['prefetch' => \__('Read at once what a page used last time', 'larder'), 'statistics' => \__('Count figures for this page', 'larder')] as $name => $label) {
            self::box($name, $label, $choices[$name], Choices::fixed($name) === null ? '' : 'LARDER_' . \strtoupper($name));
        }
        echo '<p><button type="submit" class="button">', \esc_html__('Save', 'larder'), "</button></p></form>\n";
    }

    /** The form was sent. */
    public static function posted(): void
    {
        $network = \is_multisite();
        if (!\current_user_can(Admin::capability($network))) {
            \wp_die(\esc_html__('Sorry, you are not allowed to do that.', 'larder'), '', ['response' => 403]);
        }
        \check_admin_referer(self::ACTION);
        $before = Choices::all();
        // What is fixed was not sent, and stays.
        $given = \array_intersect_key($_POST, Choices::DEFAULTS);
        $problem = Choices::save($given + $before);
        // Stored pages have the life that counted when they were stored.
        $problem === '' && Choices::all() !== $before && Purge::all();
        \wp_safe_redirect(\add_query_arg(self::NOTICE, $problem === '' ? '1' : '0', Admin::url($network)));
        exit;
    }

    /** @return ?array{'success'|'error', string} the kind of notice, and what it says */
    public static function notice(): ?array
    {
        // phpcs:ignore WordPress.Security.NonceVerification -- chooses a text, changes nothing
        return match ($_GET[self::NOTICE] ?? '') {
            '1' => ['success', \__('The settings were saved.', 'larder')],
            /* translators: %s: path of a directory */
            '0' => ['error', \sprintf(\__('The settings were not saved: PHP cannot write to %s. Set the same by constants in wp-config.php.', 'larder'), \WP_CONTENT_DIR)],
            default => null,
        };
    }

    private static function box(string $name, string $label, bool $isOn, string $constant): void
    {
        $isFixed = $constant !== '';
        // An empty box sends nothing, so the field before it says no.
        echo '<p>';
        if (!$isFixed) {
            echo '<input type="hidden" name="', \esc_attr($name), '" value="0">';
        }
        echo '<label><input type="checkbox" name="', \esc_attr($name), '" value="1"', \checked($isOn, true, false), \disabled($isFixed, true, false), '> ', \esc_html($label), '</label>';
        $isFixed && self::because($constant);
        echo '</p>';
    }

    private static function because(string $constant): void
    {
        /* translators: %s: name of a constant */
        echo ' <span class="description">', \esc_html(\sprintf(\__('Fixed in wp-config.php by %s.', 'larder'), $constant)), '</span>';
    }
}
