<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\System\Failure;

/** The machine's limits leave no room for a segment: of thousands of sites each would log it, so only `doctor` says it. */
final class NoRoom extends Failure {}
