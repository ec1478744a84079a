<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Json;
use Larder\Lab\Run\Report;
use Larder\Tests\Lab\Compare\Reports;
use Opis\JsonSchema\Errors\ErrorFormatter;
use Opis\JsonSchema\Validator;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** That whatever is not as the schema says is refused, JsonReaderTest tries. */
final class SchemaTest extends TestCase
{
    /** @return iterable<string, array{Report}> */
    public static function reports(): iterable
    {
        yield 'a usual one' => [Fixture::report()];
        yield 'a hostile one' => [Fixture::hostile()];
        yield 'one of nothing' => [Reports::report(machine: [], versions: [], partial: true)];
    }

    #[DataProvider('reports')]
    public function testAReportIsAsTheSchemaSays(Report $report): void
    {
        self::assertSame([], self::errors(self::decoded($report)));
    }

    /** Every object says all that it has, so that a member added to reports is added here. */
    public function testTheSchemaIsStrict(): void
    {
        $objects = 0;
        $look = function (mixed $schema) use (&$look, &$objects): void {
            if ($schema instanceof \stdClass && isset($schema->properties, $schema->type)) {
                ++$objects;
                self::assertFalse($schema->additionalProperties);
                self::assertSame(\array_keys(\get_object_vars($schema->properties)), $schema->required);
            }
            foreach (\is_array($schema) || \is_object($schema) ? (array) $schema : [] as $part) {
                $look($part);
            }
        };
        $look(self::schema());

        self::assertSame(6, $objects);
    }

    /** @return array<mixed> */
    private static function errors(\stdClass $report): array
    {
        $error = (new Validator())->validate($report, self::schema())->error();

        return $error === null ? [] : (new ErrorFormatter())->format($error);
    }

    private static function schema(): \stdClass
    {
        return \json_decode((string) \file_get_contents(__DIR__ . '/../../../docs/bench.schema.json'), false, 32, \JSON_THROW_ON_ERROR);
    }

    private static function decoded(Report $report): \stdClass
    {
        return \json_decode((new Json())->encode($report), false, 16, \JSON_THROW_ON_ERROR);
    }
}
