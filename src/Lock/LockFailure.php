<?php

declare(strict_types=1);

namespace Larder\Lock;

/** The locks cannot be reached. Whether the call was carried out is not known. */
final class LockFailure extends \RuntimeException {}
