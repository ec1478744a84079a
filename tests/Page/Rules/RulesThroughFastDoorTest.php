<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Lab\Plan\Need;
use Larder\Tests\Psr\Engine\OnSqliteAlone;
use PHPUnit\Framework\Attributes\AfterClass;
use PHPUnit\Framework\Attributes\Group;

/** The same rules with larder-serve.php before the autoloader, which answers what it can. */
#[Group('web')]
final class RulesThroughFastDoorTest extends RuleTestCase
{
    use OnSqliteAlone;

    private static ?FpmDoor $door = null;

    protected function door(array $options): FpmDoor
    {
        if (Need::find(['nginx']) === null || !\is_dir('/dev/shm')) {
            self::markTestSkipped('There is no nginx, or no /dev/shm.');
        }
        self::$door ??= new FpmDoor(true);

        return self::$door->over($this->options(), $options);
    }

    public function testItAnswersHitsItself(): void
    {
        $door = $this->door([]);
        $door->visit(new Step(), 'page');
        self::assertTrue($door->isStarted());
        $answers = [$door->visit(new Step(), 'other'), $door->visit(new Step(), 'other')];

        self::assertFalse($door->isStarted());
        self::assertSame(['page', 'page'], \array_column($answers, 'body'));
    }

    #[AfterClass]
    public static function stopDoor(): void
    {
        self::$door?->stop();
        self::$door = null;
    }
}
