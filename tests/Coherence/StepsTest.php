<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** What the diaries say of a call. */
#[CoversNothing]
#[RequiresPhpExtension('pdo_sqlite')]
final class StepsTest extends TestCase
{
    // Seen to fail: one that had a bounded life made all of that call bounded ones, which the others outlived.
    public function testOfSeveralSetsOnlySomeMayHaveABoundedLife(): void
    {
        $directory = new TemporaryDirectory();
        $settings = new Settings('sqlite://' . $directory->path . '/truth', $directory->path, $directory->path, 'none', true, 2.0);
        $catalog = new Catalog();
        $steps = static fn(): Steps => new Steps(Door::open($settings), $settings, $settings->diary(), $settings->database(), $catalog);
        foreach ([[1], [0, 1, 2]] as $others) {
            $late = $steps();
            $late->getMultiple(\array_slice($catalog->items, 0, 3));
            $other = $steps();
            foreach ($others as $id) {
                self::assertTrue($other->set($catalog->items[$id], [$id => 1]));
            }
            self::assertTrue($late->setMultiple([[0 => 0], [1 => 0], [2 => 0]]));
            $other->delete(\array_slice($catalog->items, 0, 3));
        }
        $diary = (string) \file_get_contents($directory->path . '/' . $settings->diaryName((int) \getmypid()));
        // All at once are judged at once, one alone is judged later.
        \preg_match_all('/^E \d+ 1 (partly-bounded|bounded)$/m', $diary, $remarks);
        self::assertSame(['partly-bounded', 'bounded'], $remarks[1]);
    }
}
