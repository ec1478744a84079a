<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\WordPress\Activation;
use Larder\WordPress\DropIn;
use Larder\WordPress\DropInState;

/** `wp larder disable`. */
final class Disable
{
    /**
     * Removes Larder's drop-in from wp-content, so that the site uses WordPress's own object cache.
     *
     * Leaves another plugin's drop-in alone.
     *
     * ## EXAMPLES
     *
     *     $ wp larder disable
     *     Success: This site uses WordPress's own object cache from the next request on.
     */
    public function __invoke(): void
    {
        $dropIn = DropIn::here();
        if ($dropIn->state() === DropInState::Foreign) {
            \WP_CLI::error('The object cache of this site belongs to ' . $dropIn->foreignName() . ', so nothing was changed.');
        }
        $problem = Activation::disable();
        if ($problem !== '') {
            \WP_CLI::error($problem);
        }
        \WP_CLI::success('This site uses WordPress\'s own object cache from the next request on.');
    }
}
