<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;

/** A call inside another call could not be made, because this process is using the store. The store has not failed. */
final class StoreBusy extends Failure {}
