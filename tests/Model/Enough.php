<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/** A state beyond which the model does not look: retries that could go on for ever. */
final class Enough extends \RuntimeException {}
