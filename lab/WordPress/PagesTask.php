<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\Processes;
use Larder\Lab\Web\Load;

/**
 * The 75th page of products: first some pages that are timed inside the object cache, then ab, and then requests at half
 * the rate that it had with the most at once.
 */
final readonly class PagesTask extends SiteTask
{
    /** Untimed ones at the beginning: each worker has then seen the page once, and a route is known. */
    private const WARM = Stage::WORKERS + 1;

    /**
     * @param non-empty-list<Side> $sides   of one subject and one theme
     * @param int                  $timed   pages
     * @param int                  $seconds of ab for each number of requests at once, about, and of the fixed rate
     */
    public function __construct(
        Stage $stage,
        string $id,
        array $sides,
        private int $timed,
        private int $seconds,
    ) {
        parent::__construct($stage, $id, $sides);
    }

    protected function measure(Site $site, Context $context): array
    {
        $subject = $this->sides[0]->subject;
        $path = Shop::path($this->sides[0]->cell->payload === 'plain');
        $each = \INF;
        for ($i = 0; $i < self::WARM; ++$i) {
            $start = \hrtime(true);
            Shop::check($site->get($path));
            $each = \min($each, (\hrtime(true) - $start) / 1e9);
        }
        // Two cores do twice what one request after the other does.
        $pages = (int) \ceil($this->seconds * 2 / $each);
        $samples = $this->timed($site, $path, $context);
        $rates = [];
        foreach ($this->sides as $side) {
            $atOnce = $side->cell->concurrency;
            if ($side->cell->operation === 'pages') {
                $pids = [...$site->fpm->workers(), $site->database->pid(), ...\array_filter([$this->stage->server($subject, $context)?->pid()])];
                $before = Processes::microseconds($pids);
                $requests = \max($pages, 4 * $atOnce);
                $rates['pages'] = Load::ab($site->url() . $path, $requests, $atOnce, false);
                $samples["pages $atOnce"] = [$rates['pages']];
                $samples["cpu $atOnce"] = [\round((Processes::microseconds($pids) - $before) / $requests, 1)];
            } elseif ($side->cell->operation === 'latency') {
                // For twice as long, because p99 takes a thousand requests of all rounds together.
                $rates['latency'] = ($rates['pages'] ?? 0.0) / 2;
                $samples['latency'] = OpenLoop::latencies($site->url() . $path, $rates['latency'], \max(1, (int) ($rates['latency'] * $this->seconds * 2)), Shop::check(...));
            }
        }
        Shop::check($site->get($path));

        return \array_map(static function (Side $side) use ($samples, $rates): Measured {
            $cell = $side->cell;
            $found = $samples[$cell->operation] ?? $samples["$cell->operation $cell->concurrency"] ?? [];

            return new Measured($found, $cell->unit === Cell::PER_SECOND ? $found[0] ?? null : $rates[$cell->operation] ?? null);
        }, $this->sides);
    }

    /** @return array<string, list<float>> samples by operation */
    private function timed(Site $site, string $path, Context $context): array
    {
        $server = $this->stage->server($this->sides[0]->subject, $context);
        $samples = [];
        for ($i = 0; $i < $this->timed; ++$i) {
            $before = $server === null ? 0 : Stage::packets($server);
            $page = $site->get($path, [], Stopwatch::HEADER);
            // The second question is one itself.
            $trips = $server === null ? 0 : Stage::packets($server) - $before - 1;
            Shop::check($page);
            $timing = Stopwatch::read($page);
            $samples['cached'][] = \round($timing->microseconds, 2);
            $samples['queries'][] = (float) $timing->queries;
            $samples['reads'][] = (float) $timing->reads;
            $samples['trips'][] = (float) \max(0, $trips);
            $timing->below === null || $samples['below'][] = (float) $timing->below;
        }

        return $samples;
    }
}
