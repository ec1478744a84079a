<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Cache;

/**
 * Leaves Cache::remember() with a value that is not to be stored: its callback has said so, or it has ended already.
 *
 * @internal
 */
final class NotKept extends \Exception {}
