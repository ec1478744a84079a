<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/** Two reports cannot be compared as it was asked. The message says what to do. */
final class NotComparable extends \RuntimeException {}
