<?php

declare(strict_types=1);

namespace Larder\Lock;

/** The locks cannot be reached. Nobody knows whether the call was carried out. */
final class LockFailure extends \RuntimeException {}
