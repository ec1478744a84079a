<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\TestCase;

/**
 * Each test makes a site of its own. Behind it that is gone, and in the logs nobody has complained of anything.
 *
 * @template S of InstalledSite
 */
abstract class OwnSiteTestCase extends TestCase
{
    /** @var S */
    protected InstalledSite $site;

    protected function tearDown(): void
    {
        if (isset($this->site)) {
            $errors = $this->complaints($this->site->site->errors());
            unset($this->site);
            self::assertSame('', $errors);
        }
    }

    /** What of the logs is none of the site's making is left out. */
    protected function complaints(string $errors): string
    {
        return $errors;
    }
}
