<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Config\Directory;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

final class DirectoryTest extends TestCase
{
    #[TestWith(['/srv/state-%u/', '/srv/state-' . 'UID'])]
    #[TestWith(['/srv/state', '/srv/state'])]
    public function testPhpIniNamesTheStateOfEachUser(string $setting, string $expected): void
    {
        self::assertSame(\str_replace('UID', (string) \posix_geteuid(), $expected), self::of($setting));
    }

    public function testARelativePathInPhpIniDoesNotCount(): void
    {
        self::assertSame(self::of(''), self::of('srv/state'));
    }

    private static function of(string $setting): string
    {

        return Child::php('echo ' . Directory::class . '::default();', null, ['-d', "larder.state=$setting"])->output;
    }
}
