<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

/** A site that does not do what it was asked for. */
final class SiteFailure extends \RuntimeException {}
