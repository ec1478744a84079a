<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Segment;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** The index, in which a key has fourteen places. By the build for users: the one that checks everything takes minutes. */
#[RequiresPhpExtension('larder')]
final class PlacesTest extends TestCase
{
    private const KEYS = 20_000;

    // Each segment has numbers of its own to hash by, so several are asked. Seen to fail: an index that grows when it is half
    // full (of most segments one to six keys are missing).
    public function testNothingIsEvictedForItsPlaceWhileThereIsMemory(): void
    {
        $directory = new TemporaryDirectory();
        foreach (['a', 'b', 'c', 'd'] as $name) {
            $segment = Segment::open($directory->file("$name/segment"), 64 << 20);
            for ($i = 0; $i < self::KEYS; $i++) {
                $segment->set("key $i", $i);
            }
            $missing = [];
            for ($i = 0; $i < self::KEYS; $i++) {
                $segment->get("key $i") === $i || $missing[] = $i;
            }
            self::assertSame([[], 0], [$missing, $segment->stats()['evictions']]);
        }
    }
}
