<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions -- read before WordPress is loaded, and replaced at once by a rename, which WP_Filesystem does not do

namespace Larder\WordPress;

/**
 * What the site's owner has chosen on the plugin's page. What wp-config.php says of the same counts instead.
 *
 * An option of the network has it. Each web server keeps a copy in a file of wp-content, because a stored page is answered
 * before the database is asked. The file begins as PHP, so that no web server shows it, and is only read, so that OPcache
 * keeps no old one.
 */
final class Choices
{
    /** The page cache, and seconds that a page is fresh; the keys of the last time read at once; the figures of the plugin's page. */
    public const DEFAULTS = ['pages' => true, 'life' => 3_600, 'prefetch' => true, 'statistics' => true];

    /** Seconds. */
    public const SHORTEST = 10;
    public const LONGEST = 30 * 86_400;

    private const OPTION = 'larder_choices';
    private const FILE = '/larder-choices.php';
    private const GUARD = '<?php exit; ?>';

    /** @var ?array{pages: bool, life: int, prefetch: bool, statistics: bool} */
    private static ?array $all = null;

    /** @return array{pages: bool, life: int, prefetch: bool, statistics: bool} as they count */
    public static function all(): array
    {
        if (self::$all === null) {
            self::$all = self::clean(self::kept());
            foreach (['prefetch', 'statistics'] as $name) {
                self::$all[$name] = self::fixed($name) ?? self::$all[$name];
            }
        }

        return self::$all;
    }

    /** Whether the requests' keys of the last time are read at once, or figures are counted, as wp-config.php says; null: it says nothing. */
    public static function fixed(string $name): ?bool
    {
        return match (true) {
            $name === 'prefetch' && \defined('LARDER_PREFETCH') => (bool) \constant('LARDER_PREFETCH'),
            $name === 'statistics' && \defined('LARDER_STATISTICS') => (bool) \constant('LARDER_STATISTICS'),
            default => null,
        };
    }

    /**
     * Keeps what was chosen, for all web servers.
     *
     * @param array<mixed> $choices
     *
     * @return string '' it is done; else why not
     */
    public static function save(array $choices): string
    {
        $choices = self::clean($choices);
        if (!self::write($choices)) {
            /* translators: %s: path of a file */
            return \sprintf(\__('PHP cannot write %s. Set the same by constants in wp-config.php.', 'larder'), self::file());
        }
        \update_site_option(self::OPTION, $choices);

        return '';
    }

    /** Another web server may have kept them. */
    public static function follow(): void
    {
        $choices = \get_site_option(self::OPTION);
        if (\is_array($choices) && self::clean($choices) !== self::clean(self::kept())) {
            self::write(self::clean($choices));
        }
    }

    public static function remove(): void
    {
        \delete_site_option(self::OPTION);
        Quietly::call(static fn(): bool => \is_file(self::file()) && \unlink(self::file()));
    }

    /**
     * @param array<mixed> $choices
     *
     * @return array{pages: bool, life: int, prefetch: bool, statistics: bool}
     */
    private static function clean(array $choices): array
    {
        $life = $choices['life'] ?? null;

        return [
            'pages' => (bool) ($choices['pages'] ?? true),
            'life' => \is_numeric($life) ? \max(self::SHORTEST, \min((int) $life, self::LONGEST)) : self::DEFAULTS['life'],
            'prefetch' => (bool) ($choices['prefetch'] ?? true),
            'statistics' => (bool) ($choices['statistics'] ?? true),
        ];
    }

    /** @return array<mixed> */
    private static function kept(): array
    {
        $text = \is_file(self::file()) ? Quietly::call(static fn(): string => (string) \file_get_contents(self::file())) : '';
        $choices = \str_starts_with($text, self::GUARD) ? \json_decode(\substr($text, \strlen(self::GUARD)), true) : null;

        return \is_array($choices) ? $choices : [];
    }

    /** @param array{pages: bool, life: int, prefetch: bool, statistics: bool} $choices */
    private static function write(array $choices): bool
    {
        self::$all = null;

        return Quietly::call(static function () use ($choices): bool {
            $new = self::file() . '.' . \bin2hex(\random_bytes(6));
            $isDone = \file_put_contents($new, self::GUARD . \wp_json_encode($choices)) !== false && \rename($new, self::file());
            $isDone || \is_file($new) && \unlink($new);

            return $isDone;
        });
    }

    private static function file(): string
    {
        return \WP_CONTENT_DIR . self::FILE;
    }
}
