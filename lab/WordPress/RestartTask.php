<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;

/** SQL queries of the plain page: once it is warm, as the first after a restart of php-fpm, as the first after a reboot: sides warm, restarted, rebooted, or some of them. */
final readonly class RestartTask extends SiteTask
{
    /** Pages until all that one reads is in the cache, and known to be read. */
    private const WARM = 3;

    protected function measure(Site $site, Context $context): array
    {
        for ($i = 0; $i < self::WARM; ++$i) {
            self::queries($site);
        }
        $measured = [];
        foreach ($this->sides as $side) {
            match ($side->cell->operation) {
                'restarted' => $site->restart(),
                'rebooted' => $this->stage->reboot($this->sides[0]->subject, $context),
                default => null,
            };
            $measured[] = new Measured([self::queries($site)]);
        }

        return $measured;
    }

    private static function queries(Site $site): float
    {
        $page = $site->get(Shop::path(true), [], Stopwatch::HEADER);
        Shop::check($page);

        return (float) Stopwatch::read($page)->queries;
    }
}
