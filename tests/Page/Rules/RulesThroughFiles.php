<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Lab\Plan\Need;
use Larder\Tests\Psr\Engine\OnSqliteAlone;
use PHPUnit\Framework\Attributes\AfterClass;

/** The same rules where a web server sends files of pages by itself, but for what it cannot do. */
abstract class RulesThroughFiles extends RuleTestCase
{
    use OnSqliteAlone;

    /** The beginnings of the names of rules that no web server's files keep; docs/http-rules.md says why. */
    private const DIFFERENT = [
        '9110 13.1.2: a weak stored tag', '9110 13.1.3: not modified since', '9110 13.2.2:', '9111 4.3.2:', '9110 13.1.5: If-Range: "1"', '9110 13.1.5: If-Range: Sun, 06 Nov 1994 08:49:37 GMT',
        '9110 14.2: HEAD has no ranges', '9110 14.2: all of it for bytes=0-1,3-4', '9110 15.5.17:',
        '9111 4.2.1: max-age is fresh', '9111 4.2.1: s-maxage before max-age is fresh', '9111 4.2.1: max-age before Expires is fresh', '9111 4.2.1: Expires is fresh', '9111 4.2.2: a tenth', '9111 4.2.3: an Age below', '9111 4.2.3: a Date in the past below', '9111 5.1: Age is told', '9111 5.1: an Age that is none is fresh', '9111 5.1: two Ages is fresh',
        '9211 2: what the application says is stored without it', '9213 3.1:',
    ];

    /** And those that this one does not keep. */
    protected const DIFFERENT_HERE = [];

    protected const KIND = 'nginx';
    protected const PROGRAM = 'nginx';

    /** @var array<string, FpmDoor> by the page cache's options, which the web server is told */
    private static array $doors = [];

    protected function door(array $options): FpmDoor
    {
        if (Need::find([static::PROGRAM]) === null) {
            self::markTestSkipped('There is no ' . static::PROGRAM . '.');
        }
        $door = self::$doors[(string) \json_encode($options)] ??= new FpmDoor(sends: $options, kind: static::KIND);

        return $door->over($this->options(), $options);
    }

    protected function isDifferent(string $rule): bool
    {
        return \array_filter([...self::DIFFERENT, ...static::DIFFERENT_HERE], static fn(string $beginning): bool => \str_starts_with($rule, $beginning)) !== [];
    }

    public function testItSendsHitsItself(): void
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
