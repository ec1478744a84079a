<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

/** The index, in which a key has fourteen places. */
final class PlacesTest extends SegmentTestCase
{
    // Each segment has numbers of its own to hash by, so several are asked. Seen to fail: an index that grows when it is half
    // full (of most segments one to six keys are missing).
    public function testNothingIsEvictedForItsPlaceWhileThereIsMemory(): void
    {
        foreach (['a', 'b', 'c', 'd'] as $name) {
            $child = Child::at("$this->path-$name", 64 << 20);
            self::assertSame([[], 0], $child->run(<<<'PHP'
                $missing = [];
                for ($i = 0; $i < 20_000; $i++) $s->set("key $i", $i);
                for ($i = 0; $i < 20_000; $i++) if ($s->get("key $i") !== $i) $missing[] = $i;
                return [$missing, $s->stats()["evictions"]];
                PHP));
            self::assertSame(0, $child->end());
        }
    }
}
