<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\ServiceFailure;

/**
 * The site of the scenario `catalog`: 1,350 products, shown 18 a page, and two themes to show them with.
 *
 * What runs inside WordPress lies in Shop/: plugin.php (what a product is), seed.php (the products), theme/, and
 * transients.php (the loop of the scenario `transients`).
 */
final class Shop
{
    public const PER_PAGE = 18;

    private const PAGE = 75;
    private const THEME = 'larder-lab-plain';

    /** The 75th page of products. */
    public static function path(bool $plain): string
    {
        return '/products/page/' . self::PAGE . '/' . ($plain ? '?plain=1' : '');
    }

    /** What Options takes as seed. */
    public static function seed(): string
    {
        return self::code('plugin.php') . self::code('seed.php');
    }

    public static function furnish(Site $site): void
    {
        $copy = static function (string $from, string $to): void {
            \is_dir(\dirname($to)) || \mkdir(\dirname($to), 0o755, true);
            \copy(__DIR__ . "/Shop/$from", $to) || throw new ServiceFailure("Cannot copy Shop/$from to $to.");
        };
        $copy('plugin.php', $site->content('mu-plugins/larder-lab.php'));
        foreach (['style.css', 'index.php'] as $file) {
            $copy("theme/$file", $site->content('themes/' . self::THEME . "/$file"));
        }
        $copy('transients.php', "$site->root/larder-lab-transients.php");
        $site->account->receive($site->content());
    }

    /** @throws ServiceFailure if the page does not show what it should */
    public static function check(Response $page): void
    {
        $page->status === 200 || throw new ServiceFailure("The catalogue: the page has status $page->status.");
        for ($i = self::PER_PAGE * (self::PAGE - 1) + 1; $i <= self::PER_PAGE * self::PAGE; ++$i) {
            $title = \sprintf('Product %04d', $i);
            \str_contains($page->body, $title) || throw new ServiceFailure("The catalogue: \"$title\" is not on the page.");
        }
    }

    /** Without what only the beginning of a file may have. */
    private static function code(string $file): string
    {
        return \str_replace(['<?php', 'declare(strict_types=1);'], '', (string) \file_get_contents(__DIR__ . "/Shop/$file"));
    }
}
