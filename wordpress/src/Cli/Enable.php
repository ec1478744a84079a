<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\WordPress\Activation;
use Larder\WordPress\DropIn;
use Larder\WordPress\DropInState;

/** `wp larder enable`. */
final class Enable
{
    /**
     * Makes Larder the object cache of this site: puts its drop-in into wp-content.
     *
     * Leaves another plugin's drop-in alone unless you give --force, and then keeps a copy of it beside.
     *
     * ## OPTIONS
     *
     * [--force]
     * : Replace another plugin's drop-in too.
     *
     * ## EXAMPLES
     *
     *     $ wp larder enable
     *     Success: Larder is the object cache of this site from the next request on.
     *
     * @param list<string>         $args
     * @param array<string, mixed> $options
     */
    public function __invoke(array $args, array $options): void
    {
        $dropIn = DropIn::here();
        $state = $dropIn->state();
        if ($state === DropInState::Ours) {
            \WP_CLI::success('Larder is already the object cache of this site.');

            return;
        }
        $force = Door::flag($options, 'force');
        $problem = Activation::enable($force);
        if ($problem !== '') {
            \WP_CLI::error($problem . ($state === DropInState::Foreign && !$force ? ' To replace it, type: wp larder enable --force' : ''));
        }
        if ($state === DropInState::Foreign) {
            \WP_CLI::log('A copy of the other plugin\'s drop-in is kept: ' . $dropIn->backup());
        }
        \WP_CLI::success('Larder is the object cache of this site from the next request on.');
    }
}
