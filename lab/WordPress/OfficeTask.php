<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\ServiceFailure;

/** What those who work on the site wait for: the list of products in wp-admin, and WordPress's start on the command line. */
final readonly class OfficeTask extends SiteTask
{
    private const LIST = '/wp-admin/edit.php?post_type=product';

    /**
     * @param non-empty-list<Side> $sides of one subject: page, cached, queries of payload "edit"; start of payload "cli"
     * @param int                  $times each
     */
    public function __construct(
        Stage $stage,
        string $id,
        array $sides,
        private int $times,
    ) {
        parent::__construct($stage, $id, $sides);
    }

    protected function measure(Site $site, Context $context): array
    {
        $cookies = $site->login();
        $site->get(self::LIST, $cookies);
        $samples = [];
        for ($i = 0; $i < $this->times; ++$i) {
            $start = \hrtime(true);
            self::check($site->get(self::LIST, $cookies));
            $samples['page'][] = \round((\hrtime(true) - $start) / 1e3, 1);
            $timing = Stopwatch::read($site->get(self::LIST, $cookies, Stopwatch::HEADER));
            $samples['cached'][] = \round($timing->microseconds, 2);
            $samples['queries'][] = (float) $timing->queries;
            $start = \hrtime(true);
            $site->cli('');
            $samples['start'][] = \round((\hrtime(true) - $start) / 1e3, 1);
        }

        return \array_map(static fn(Side $side): Measured => new Measured($samples[$side->cell->operation] ?? []), $this->sides);
    }

    private static function check(Response $page): void
    {
        if ($page->status !== 200 || !\str_contains($page->body, 'Product 0001')) {
            throw new ServiceFailure("The list of products has status $page->status, or does not show the newest.");
        }
    }
}
