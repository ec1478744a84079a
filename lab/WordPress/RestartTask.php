<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Task;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;

/** SQL queries of the plain page: once it is warm, as the first after a restart of php-fpm, as the first after a reboot. */
final readonly class RestartTask implements Task
{
    /** Pages until all that one reads is in the cache, and known to be read. */
    private const WARM = 3;

    /** @param non-empty-list<Side> $sides of one subject: warm, restarted, rebooted, or some of them */
    public function __construct(
        private Stage $stage,
        private string $id,
        private array $sides,
    ) {}

    public function id(): string
    {
        return $this->id;
    }

    public function sides(): array
    {
        return $this->sides;
    }

    public function pair(): ?Pair
    {
        return null;
    }

    public function perform(Context $context): array
    {
        $subject = $this->sides[0]->subject;
        $site = $this->stage->site($subject, $context);
        for ($i = 0; $i < self::WARM; ++$i) {
            self::queries($site);
        }
        $measured = [];
        foreach ($this->sides as $side) {
            match ($side->cell->operation) {
                'restarted' => $site->restart(),
                'rebooted' => $this->stage->reboot($subject, $context),
                default => null,
            };
            $measured[] = new Measured([self::queries($site)]);
        }

        return $measured;
    }

    private static function queries(Site $site): float
    {
        $page = $site->get(Shop::path(true), [], Stopwatch::HEADER);
        $wrong = Shop::complaint($page);

        return $wrong === null ? (float) Stopwatch::read($page)->queries : throw new SiteFailure("The catalogue: $wrong.");
    }
}
