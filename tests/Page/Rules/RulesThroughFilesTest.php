<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Lab\Plan\Need;
use Larder\Tests\Psr\Engine\OnSqliteAlone;
use PHPUnit\Framework\Attributes\AfterClass;

/** The same rules where nginx sends files of pages by itself, but for what nginx cannot do. */
final class RulesThroughFilesTest extends RuleTestCase
{
    use OnSqliteAlone;

    /** The beginnings of the names of rules that nginx's files do not keep; docs/http-rules.md says why. */
    private const DIFFERENT = [
        '9110 13.1.2: a weak stored tag', '9110 13.1.3: not modified since', '9110 13.2.2:', '9111 4.3.2:', '9110 13.1.5: If-Range: "1"', '9110 13.1.5: If-Range: Sun, 06 Nov 1994 08:49:37 GMT',
        '9110 14.2: HEAD has no ranges', '9110 14.2: all of it for bytes=0-1,3-4', '9110 14.2: all of it for bytes=4-2', '9110 14.2: all of it for bytes=-', '9110 14.2: all of it for bytes=a-b', '9110 15.5.17:',
        '9111 4.2.1: max-age is fresh', '9111 4.2.1: s-maxage before max-age is fresh', '9111 4.2.1: max-age before Expires is fresh', '9111 4.2.1: Expires is fresh', '9111 4.2.2: a tenth', '9111 4.2.3: an Age below', '9111 4.2.3: a Date in the past below', '9111 5.1: Age is told',
        '9211 2: what the application says is stored without it', '9213 3.1:',
    ];

    /** @var array<string, FpmDoor> by the page cache's options, which nginx is told */
    private static array $doors = [];

    protected function door(array $options): FpmDoor
    {
        if (Need::find(['nginx']) === null) {
            self::markTestSkipped('There is no nginx.');
        }
        $door = self::$doors[(string) \json_encode($options)] ??= new FpmDoor(sends: $options);

        return $door->over($this->options(), $options);
    }

    protected function isDifferent(string $rule): bool
    {
        return \array_filter(self::DIFFERENT, static fn(string $beginning): bool => \str_starts_with($rule, $beginning)) !== [];
    }

    public function testNginxSendsHitsItself(): void
    {
        $door = $this->door([]);
        $door->visit(new Step(), 'page');
        $hit = $door->visit(new Step(), 'other');

        self::assertSame(['page', ['Larder; hit; detail="file"']], [$hit->body, $hit->fields['cache-status'] ?? []]);
    }

    #[AfterClass]
    public static function stopDoors(): void
    {
        foreach (self::$doors as $door) {
            $door->stop();
        }
        self::$doors = [];
    }
}
