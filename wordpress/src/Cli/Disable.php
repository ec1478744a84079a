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
     * Gives the site back WordPress's own object cache: removes Larder's drop-in from wp-content.
     *
     * Another plugin's drop-in stays.
     *
     * ## EXAMPLES
     *
     *     $ wp larder disable
     *     Success: This site has WordPress's own object cache from the next request on.
     */
    public function __invoke(): void
    {
        $dropIn = DropIn::here();
        if ($dropIn->state() === DropInState::Foreign) {
            \WP_CLI::error('The object cache of this site is that of ' . $dropIn->foreignName() . ', and stays.');
        }
        $problem = Activation::disable();
        if ($problem !== '') {
            \WP_CLI::error($problem);
        }
        \WP_CLI::success('This site has WordPress\'s own object cache from the next request on.');
    }
}
