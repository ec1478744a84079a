<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Lab\Plan\Need;
use Larder\Tests\Psr\Engine\OnSqliteAlone;
use PHPUnit\Framework\Attributes\AfterClass;
use PHPUnit\Framework\Attributes\Group;

/** The same rules through PageCache, nginx and php-fpm. */
#[Group('web')]
final class RulesThroughFpmTest extends RuleTestCase
{
    use OnSqliteAlone;

    private static ?FpmDoor $door = null;

    protected function door(array $options): Door
    {
        if (Need::find(['nginx']) === null) {
            self::markTestSkipped('There is no nginx.');
        }
        self::$door ??= new FpmDoor();

        return self::$door->over($this->options(), $options);
    }

    /** RFC 5861, section 3: the visitor gets the stale page at once, and a request of its own renews it. */
    public function testAStalePageIsServedAndRenewed(): void
    {
        $door = $this->door([]);
        $door->visit(new Step(lines: ['Cache-Control: max-age=60, stale-while-revalidate=100', 'Age: 100', 'ETag: "1"']), 'old');
        self::assertSame('old', $door->visit(new Step(), 'new')->body);
        for ($end = \hrtime(true) + 10_000_000_000, $body = 'old'; $body === 'old' && \hrtime(true) < $end; \usleep(20_000)) {
            $body = $door->visit(new Step(), 'new')->body;
        }
        $after = $door->visit(new Step(), 'newer');

        self::assertSame(['new', null], [$after->body, $after->asked]);
    }

    #[AfterClass]
    public static function stopDoor(): void
    {
        self::$door?->stop();
        self::$door = null;
    }
}
