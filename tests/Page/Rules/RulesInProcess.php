<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Cache;
use Larder\Page\PageCache;
use Larder\Page\Policy;

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

    /** RFC 9111, sections 4.2.3 and 5.1: caches behind this one see by its age that it is stale. */
    public function testAStalePageIsFreshForNobodyBehind(): void
    {
        foreach (['its life is over' => 'Age: 100', 'somebody has expired it' => 'Age: 0'] as $why => $age) {
            $target = '/' . \md5($why);
            $door = $this->door([]);
            $other = $this->door([]);
            $door->visit(new Step(target: $target, lines: ['Cache-Control: max-age=60, stale-while-revalidate=100', 'Expires: Thu, 01 Jan 2099 00:00:00 GMT', $age, 'ETag: "1"']), 'old');
            $age === 'Age: 0' && self::assertTrue((new PageCache($this->cache()))->expire($target));
            $during = null;
            $door->meanwhile = static function () use ($other, $target, &$during): void {
                $during = $other->visit(new Step(target: $target), 'of the other one');
            };
            $door->visit(new Step(target: $target), 'new');

            self::assertInstanceOf(Visit::class, $during, $why);
            self::assertSame('old', $during->body, $why);
            $policy = Policy::of($during->status, $during->fields, \time(), null);
            self::assertGreaterThanOrEqual($policy->life, $policy->age, $why);
        }
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
