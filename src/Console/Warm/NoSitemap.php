<?php

declare(strict_types=1);

namespace Larder\Console\Warm;

/** What was read is no sitemap, or nothing could be read. */
final class NoSitemap extends \RuntimeException {}
