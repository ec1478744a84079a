<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

/** What an engine gave is not what it was given. */
final class WrongValue extends \RuntimeException {}
