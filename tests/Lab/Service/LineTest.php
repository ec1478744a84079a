<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Line;
use Larder\Lab\Service\Link;
use Larder\Lab\Service\Pipe;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Line::class)]
final class LineTest extends TestCase
{
    private Line $line;
    private Pipe $pipe;

    protected function setUp(): void
    {
        $this->line = new Line(Link::DELAY, Link::RATE);
        $this->pipe = new Pipe($this->line, \STDIN, \STDOUT);
    }

    public function testAPieceTakesItsTimeOnTheLineAndTheDelay(): void
    {
        self::assertNull($this->line->due());
        // 80 ns a byte at 100 Mbit/s.
        $this->line->send($this->pipe, \str_repeat('x', 1000), 5_000);
        self::assertSame(5_000 + 80_000 + 250_000, $this->line->due());
        self::assertNull($this->line->arrived(334_999));
        self::assertSame([335_000, $this->pipe, \str_repeat('x', 1000)], $this->line->arrived(335_000));
        self::assertNull($this->line->due());
    }

    public function testAllWaitForTheSameLine(): void
    {
        $other = new Pipe($this->line, \STDIN, \STDOUT);
        $this->line->send($this->pipe, \str_repeat('x', 1000), 0);
        $this->line->send($other, 'y', 10);
        // Long after, the line is free again.
        $this->line->send($this->pipe, 'z', 1_000_000);
        self::assertSame([330_000, $this->pipe], \array_slice((array) $this->line->arrived(2_000_000), 0, 2));
        self::assertSame([330_080, $other, 'y'], $this->line->arrived(2_000_000));
        self::assertSame([1_250_080, $this->pipe, 'z'], $this->line->arrived(2_000_000));
        self::assertNull($this->line->arrived(2_000_000));
    }

    public function testAnEndTakesNoTimeOnTheLine(): void
    {
        $this->line->send($this->pipe, 'x', 0);
        $this->line->send($this->pipe, '', 0);
        self::assertSame([250_080, $this->pipe, 'x'], $this->line->arrived(250_080));
        self::assertSame([250_080, $this->pipe, ''], $this->line->arrived(250_080));
    }
}
