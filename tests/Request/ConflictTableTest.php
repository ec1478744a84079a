<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Request\ConflictTable;
use Larder\Request\History;
use Larder\Request\Verdict;
use PHPUnit\Framework\TestCase;

/** The table of conflicts as a table: every combination has the verdict of its row. */
final class ConflictTableTest extends TestCase
{
    public function testEverySet(): void
    {
        $count = 0;
        foreach ([History::SEEN, History::MISSED, History::UNSURE] as $how) {
            foreach ([true, false] as $cacheOnly) {
                foreach ([null, '', 's', 'x', 'd', 'm', 'i', 'c'] as $change) {
                    foreach ([true, false] as $same) {
                        foreach ([true, false] as $intent) {
                            $expected = match (true) {
                                // Nothing is stored under somebody else's intent, nor what is computed from a value that may be the older of two.
                                $intent, $how === History::UNSURE => Verdict::Drop,
                                $change === null => Verdict::Store,
                                $how === History::SEEN => $cacheOnly ? Verdict::Store : Verdict::Drop,
                                $change === 's' && $same => Verdict::Same,
                                $change === 's', $change === 'x' => Verdict::Bounded,
                                // A delete, a flush, or nobody knows what.
                                default => Verdict::Drop,
                            };
                            self::assertSame(
                                $expected,
                                ConflictTable::set($how, $cacheOnly, $change, $same, $intent),
                                \json_encode(\compact('how', 'cacheOnly', 'change', 'same', 'intent'), \JSON_THROW_ON_ERROR),
                            );
                            $count++;
                        }
                    }
                }
            }
        }
        self::assertSame(3 * 2 * 8 * 2 * 2, $count);
    }

    public function testEveryFill(): void
    {
        foreach ([History::SEEN, History::MISSED] as $how) {
            self::assertTrue(ConflictTable::stores($how, false));
            self::assertFalse(ConflictTable::stores($how, true));
        }
        self::assertFalse(ConflictTable::stores(History::UNSURE, false));
        self::assertFalse(ConflictTable::stores(History::UNSURE, true));
    }
}
