<?php

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

/** What is thrown in the middle of a call, as a signal's handler may. */
final class Interruption extends \Exception {}
