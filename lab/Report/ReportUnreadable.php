<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

/** A file that is no report of this laboratory, or no longer the one that was written. */
final class ReportUnreadable extends \RuntimeException {}
