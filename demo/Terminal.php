<?php

declare(strict_types=1);

namespace Larder\Demo;

/**
 * Prints: in colour on a terminal, plainly everywhere else. NO_COLOR and FORCE_COLOR are respected.
 *
 * Everything fits into 88 columns; times stand in one column at the right.
 */
final class Terminal
{
    public const WIDTH = 88;

    private const INDENT = 3;
    private const WHO = 12;
    private const TIME = 14;

    private readonly bool $colour;

    /** @param resource $stream */
    public function __construct(private $stream)
    {
        $this->colour = \getenv('FORCE_COLOR') !== false && \getenv('FORCE_COLOR') !== ''
            || \stream_isatty($stream) && (\getenv('NO_COLOR') === false || \getenv('NO_COLOR') === '') && \getenv('TERM') !== 'dumb';
    }

    public function heading(string $left, string $right): void
    {
        $this->line();
        $this->line('   ' . $this->paint('1', $left) . $this->paint('2', \str_pad($right, self::WIDTH - 3 - self::columns($left) + \strlen($right) - self::columns($right), ' ', \STR_PAD_LEFT)));
    }

    public function title(int $number, string $text): void
    {
        $this->line();
        $text = ' ' . $number . '  ' . $text . ' ';
        $this->line($this->paint('36', '──') . $this->paint('1;36', $text) . $this->paint('36', \str_repeat('─', \max(0, self::WIDTH - 2 - self::columns($text)))));
    }

    /** A paragraph. */
    public function say(string $text): void
    {
        foreach (\explode("\n", \wordwrap($text, self::WIDTH - self::INDENT)) as $line) {
            $this->line('   ' . $line);
        }
        $this->line();
    }

    /** Who did what, and how long it took in milliseconds. */
    public function step(string $who, string $what, ?float $milliseconds = null): void
    {
        $room = self::WIDTH - self::INDENT - self::WHO - self::TIME;
        $time = $milliseconds === null ? '' : \str_pad(self::time($milliseconds), self::TIME, ' ', \STR_PAD_LEFT);
        foreach (\explode("\n", \wordwrap($what, $milliseconds === null ? $room + self::TIME : $room, "\n", true)) as $i => $line) {
            $this->line(\rtrim(
                '   ' . $this->paint('2', self::padded($i === 0 ? $who : '', self::WHO))
                . ($i === 0 && $time !== '' ? self::padded($line, $room) . $this->paint('33', $time) : $line),
            ));
        }
    }

    public function claim(bool $holds, string $text): void
    {
        foreach (\explode("\n", \wordwrap($text, self::WIDTH - self::INDENT - 2)) as $i => $line) {
            $mark = $i > 0 ? ' ' : ($holds ? '✓' : '✗');
            $this->line('   ' . $this->paint($holds ? '32' : '1;31', $mark . ' ' . $line));
        }
    }

    public function skipped(string $text): void
    {
        foreach (\explode("\n", \wordwrap($text, self::WIDTH - self::INDENT - 2)) as $i => $line) {
            $this->line('   ' . $this->paint('1;33', ($i > 0 ? '  ' : '- ') . $line));
        }
    }

    /**
     * The first column is text, the others are figures.
     *
     * @param non-empty-list<string>       $head
     * @param list<non-empty-list<string>> $rows
     */
    public function table(array $head, array $rows): void
    {
        $widths = [];
        foreach ([$head, ...$rows] as $row) {
            foreach ($row as $i => $cell) {
                $widths[$i] = \max($widths[$i] ?? 0, self::columns($cell));
            }
        }
        foreach ([$head, ...$rows] as $number => $row) {
            $line = '';
            foreach ($row as $i => $cell) {
                $line .= $i === 0 ? self::padded($cell, $widths[0]) : \str_repeat(' ', 3 + $widths[$i] - self::columns($cell)) . $cell;
            }
            $this->line('   ' . ($number === 0 ? $this->paint('1', $line) : $line));
        }
    }

    public function line(string $text = ''): void
    {
        \fwrite($this->stream, $text . "\n");
        \fflush($this->stream);
    }

    public static function time(float $milliseconds): string
    {
        return $milliseconds < 10
            ? \sprintf('%.2f ms', $milliseconds)
            : ($milliseconds < 1000 ? \sprintf('%.0f ms', $milliseconds) : \sprintf('%.2f s ', $milliseconds / 1000));
    }

    private function paint(string $code, string $text): string
    {
        return $this->colour && $text !== '' ? "\e[{$code}m{$text}\e[0m" : $text;
    }

    private static function padded(string $text, int $width): string
    {
        return $text . \str_repeat(' ', \max(0, $width - self::columns($text)));
    }

    /** Characters; none here is wide. */
    private static function columns(string $text): int
    {
        return (int) \preg_match_all('/./us', $text);
    }
}
