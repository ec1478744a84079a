<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Page\Http\StructuredField;
use Larder\Page\Http\Token;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\ExpectationFailedException;
use PHPUnit\Framework\TestCase;

/** Sees to every rule of the table through one door, over one store. */
abstract class RuleTestCase extends TestCase
{
    /** Pages, handlers and caches refer to each other: without this the files of hundreds of caches stay open. */
    #[After]
    protected function closeFiles(): void
    {
        \gc_collect_cycles();
    }

    /** @param array<string, mixed> $options of the page cache */
    abstract protected function door(array $options): Door;

    /**
     * @param list<Step>           $steps
     * @param array<string, mixed> $options
     */
    #[DataProviderExternal(Rules::class, 'all')]
    public function testARule(array $steps, array $options = []): void
    {
        $door = $this->door($options);
        if ($this->isDifferent((string) $this->dataName())) {
            // Else the list of differences is out of date.
            $this->expectException(ExpectationFailedException::class);
        }
        foreach ($steps as $i => $step) {
            $this->see($step, $i + 1, $door);
        }
    }

    /** Whether this door is known not to keep a rule. */
    protected function isDifferent(string $rule): bool
    {
        return false;
    }

    private function see(Step $step, int $number, Door $door): void
    {
        $lines = \array_map(static fn(string $line): string => \str_replace(['{origin}', '{authority}'], [$door->origin(), \substr($door->origin(), \strlen('http://'))], $line), $step->lines);
        $visit = $door->visit(new Step(...[...\get_object_vars($step), 'lines' => $lines]), $step->body ?? "made by step $number");
        $at = "step $number";
        self::assertSame($step->status, $visit->status, $at);
        $expected = match (true) {
            $step->gets !== null => $step->gets,
            ($step->from ?? $number) === 0 => '',
            default => 'made by step ' . ($step->from ?? $number),
        };
        self::assertSame($expected, $visit->body, "$at, " . \implode(', ', $visit->fields['cache-status'] ?? ['without a status']));
        self::assertSame($step->ran ?? $expected === ($step->body ?? "made by step $number"), $visit->asked !== null, "$at: whether the application ran");
        foreach ($step->has as $name => $value) {
            self::assertField($value, $visit->fields[\strtolower($name)] ?? null, "$at: $name");
        }
        foreach ($step->asked as $name => $value) {
            self::assertField($value, $visit->asked[\strtolower($name)] ?? null, "$at: the application's $name");
        }
        self::assertCacheStatus($visit, $at);
    }

    /** @param ?list<string> $lines */
    private static function assertField(?string $expected, ?array $lines, string $what): void
    {
        if ($expected === null) {
            self::assertNull($lines, $what);
        } elseif (\str_starts_with($expected, '~')) {
            self::assertMatchesRegularExpression($expected, \implode(', ', $lines ?? ['']), $what);
        } else {
            self::assertSame($expected, $lines === null ? null : \implode(', ', $lines), $what);
        }
    }

    /** Of every reply: this cache is the last member, and says either "hit" or why it asked, or only a detail (RFC 9211, section 2). */
    private static function assertCacheStatus(Visit $visit, string $at): void
    {
        $members = StructuredField::list(\implode(', ', $visit->fields['cache-status'] ?? []));
        self::assertNotNull($members, "$at: Cache-Status is no list");
        self::assertNotSame([], $members, "$at: there is no Cache-Status");
        [$name, $parameters] = $members[\count($members) - 1];
        self::assertEquals(new Token('Larder'), $name, $at);
        self::assertFalse(isset($parameters['hit'], $parameters['fwd']), "$at: both hit and fwd");
        self::assertSame($visit->asked !== null, isset($parameters['fwd']), "$at: fwd says that the application was asked");
        if (isset($parameters['fwd'])) {
            self::assertContainsEquals($parameters['fwd'], \array_map(static fn(string $word): Token => new Token($word), ['bypass', 'method', 'uri-miss', 'vary-miss', 'miss', 'request', 'stale', 'partial']), $at);
        }
        foreach (['ttl' => \is_int(...), 'fwd-status' => \is_int(...), 'hit' => \is_bool(...), 'stored' => \is_bool(...), 'detail' => \is_string(...)] as $parameter => $is) {
            isset($parameters[$parameter]) && self::assertTrue($is($parameters[$parameter]), "$at: $parameter");
        }
        self::assertSame([], \array_diff(\array_keys($parameters), ['hit', 'fwd', 'fwd-status', 'stored', 'ttl', 'detail']), $at);
    }
}
