<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Plan;

use Larder\Lab\Plan\Cell;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class CellTest extends TestCase
{
    /** @return iterable<string, array{string, Cell::ANYWHERE|Cell::SAME|Cell::OTHER, int<1, max>}> */
    public static function ids(): iterable
    {
        yield 'no server, ten keys a request' => ['engines/larder-apcu:process:igbinary/short/read/1', Cell::ANYWHERE, 10];
        yield 'the server on the same core' => ['engines/larder-apcu:process:igbinary/short/read/1/same', Cell::SAME, 10];
        yield 'the server on another core' => ['engines/larder-apcu:process:igbinary/short/read/1/other', Cell::OTHER, 10];
        yield 'one key a request' => ['engines/larder-apcu:process:igbinary/short/read/1/1', Cell::ANYWHERE, 1];
        yield '175 keys a request, the server on another core' => ['engines/larder-apcu:process:igbinary/short/read/1/other/175', Cell::OTHER, 175];
    }

    /** @param int<1, max> $request */
    #[DataProvider('ids')]
    public function testPlacementAndRequestAreInTheId(string $id, string $placement, int $request): void
    {
        $cell = new Cell('engines', 'larder-apcu:process:igbinary', 'larder-apcu', Cell::PROCESS, 'igbinary', 'none', 'short', 'read', 1, Cell::MICROSECONDS, $placement, $request);

        self::assertSame($id, $cell->id());
    }
}
