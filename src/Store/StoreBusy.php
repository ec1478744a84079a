<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;

/** A call inside another call that could not be done: the store is in use by this very process, and has not failed. */
final class StoreBusy extends Failure {}
