<?php

declare(strict_types=1);

namespace Larder\Tests\Fuzz;

use Larder\Tests\Coherence\Catalog;
use Larder\Tests\Coherence\Door;
use Larder\Tests\Coherence\Item;
use Larder\Tests\Coherence\Program;
use Larder\Tests\Coherence\Settings;
use Larder\Tests\Coherence\Steps;

/** What one process does: a request after the other, with a cache of its own or one that lives on. */
final class Requests
{
    public static function serve(Settings $settings, int $seed, int $until): int
    {
        \gc_enable();
        $diary = $settings->diary();
        $diary->listen();
        $catalog = new Catalog();
        $database = $settings->database();
        $door = null;
        Item::$filling = (new Logs($settings))->records(...);
        while (\hrtime(true) < $until) {
            \mt_srand(++$seed);
            if (\mt_rand(0, 2) > 0) {
                $door = null;
            }
            $diary->note('R ' . \hrtime(true));
            try {
                if ($door === null) {
                    $door = Door::open($settings);
                } else {
                    $door->cache->refresh();
                }
                $diary->note($door->view());
                $steps = new Steps($door, $settings, $diary, $database, $catalog);
                (new Program($steps, $catalog, $settings->nested))->run($seed);
                $door->cache->writeFills();
            } catch (\Throwable $throwable) {
                $diary->trouble((string) $throwable);
                \fwrite(\STDERR, "$throwable\n");

                return 1;
            }
            $diary->note('Z ' . \hrtime(true) . ' ' . $steps->calls);
        }

        return 0;
    }

    /** All keys, when nobody writes any more. */
    public static function look(Settings $settings): void
    {
        $catalog = new Catalog();
        $diary = $settings->diary();
        $diary->listen();
        $diary->note('R ' . \hrtime(true));
        $steps = new Steps(Door::open($settings), $settings, $diary, $settings->database(), $catalog);
        foreach ($catalog->items as $item) {
            $steps->get($item);
        }
        $diary->note('Z ' . \hrtime(true) . ' ' . $steps->calls);
    }
}
