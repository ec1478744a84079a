<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

/** What counts cannot be reached. Whether the call was counted is not known. */
final class RateLimiterFailure extends \RuntimeException {}
