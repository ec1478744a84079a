<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;

/** Figures that no statistics can be made of. */
final class UnusableSamples extends \InvalidArgumentException {}
