<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Cache;

/** The rules through the middleware, and those that need more than one visitor at a time. */
abstract class RulesInProcess extends RuleTestCase
{
    abstract protected function cache(): Cache;

    protected function door(array $options): MiddlewareDoor
    {
        return new MiddlewareDoor($this->cache(...), $options);
    }

    /** RFC 5861, section 3. */
    public function testAStalePageIsServedWhileOneVisitorRenewsIt(): void
    {
        $door = $this->door([]);
        $other = $this->door([]);
        $old = ['Cache-Control: max-age=60, stale-while-revalidate=100', 'Age: 100', 'ETag: "1"'];
        $door->visit(new Step(lines: $old), 'old');
        $during = null;
        $door->meanwhile = static function () use ($other, &$during): void {
            $during = $other->visit(new Step(), 'of the other one');
        };
        $renewed = $door->visit(new Step(), 'new');
        $door->meanwhile = null;

        self::assertSame('new', $renewed->body);
        self::assertInstanceOf(Visit::class, $during);
        self::assertSame(['old', null], [$during->body, $during->asked]);
        self::assertMatchesRegularExpression('~^Larder; hit; ttl=-4\d$~', $during->fields['cache-status'][0]);
        self::assertSame(['new', null], [($after = $other->visit(new Step(), 'newer'))->body, $after->asked]);
    }

    /** RFC 9111, section 4.2.4: without permission nobody gets it stale, so the others wait for the one who renews it. */
    public function testAStalePageWithoutPermissionIsNotServedMeanwhile(): void
    {
        $door = $this->door([]);
        $other = $this->door(['wait' => 0]);
        $door->visit(new Step(lines: ['Cache-Control: max-age=60, must-revalidate', 'Age: 100', 'ETag: "1"']), 'old');
        $during = null;
        $door->meanwhile = static function () use ($other, &$during): void {
            $during = $other->visit(new Step(), 'of the other one');
        };
        $door->visit(new Step(), 'new');

        self::assertInstanceOf(Visit::class, $during);
        self::assertSame('of the other one', $during->body);
    }
}
