<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

/** What counts cannot be reached. Nobody knows whether the call was counted. */
final class RateLimiterFailure extends \RuntimeException {}
