<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\ServiceFailure;

/** What those who work on the site wait for: the list of products in wp-admin, and WordPress's start on the command line: sides page, cached, queries and start. */
final readonly class OfficeTask extends SiteTask
{
    private const LIST = '/wp-admin/edit.php?post_type=product';

    protected function measure(Site $site, Context $context): array
    {
        $cookies = $site->login();
        $site->get(self::LIST, $cookies);
        $start = \hrtime(true);
        self::check($site->get(self::LIST, $cookies));
        $page = \hrtime(true) - $start;
        $timing = Stopwatch::read($site->get(self::LIST, $cookies, Stopwatch::HEADER));
        $start = \hrtime(true);
        $site->cli('');
        $found = ['page' => \round($page / 1e3, 1), 'start' => \round((\hrtime(true) - $start) / 1e3, 1), 'cached' => \round($timing->microseconds, 2), 'queries' => (float) $timing->queries];

        return \array_map(static fn(Side $side): Measured => new Measured([$found[$side->cell->operation]]), $this->sides);
    }

    private static function check(Response $page): void
    {
        if ($page->status !== 200 || !\str_contains($page->body, 'Product 0001')) {
            throw new ServiceFailure("The list of products has status $page->status, or does not show the newest.");
        }
    }
}
