<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/** A file that the comparison is to be written to; whether that can be is known before anything is computed. */
final readonly class Destination
{
    /**
     * @param string       $option it came from, without dashes
     * @param list<string> $others files that it must not be
     *
     * @throws NotComparable it cannot be written, or is one of the others
     */
    public function __construct(private string $option, private string $file, array $others)
    {
        $why = match (true) {
            $file === '' => 'no name was given',
            \str_contains($file, "\0") => 'there is a zero byte in its name',
            \is_dir($file) => 'it is a directory',
            \file_exists($file) => \is_writable($file) ? null : 'you may not write to it',
            !\is_dir(\dirname($file)) => 'there is no directory ' . Name::shown(\dirname($file), 200),
            !\is_writable(\dirname($file)) => 'you may not write in ' . Name::shown(\dirname($file), 200),
            default => null,
        };
        foreach ($why === null ? $others : [] as $other) {
            if (self::same($file, $other)) {
                $why = 'it is also ' . Name::shown($other, 200) . ', which would be overwritten';
            }
        }
        if ($why !== null) {
            throw NotComparable::output($option, $file, $why);
        }
    }

    /** @throws NotComparable the disk is full, or the file was taken away meanwhile */
    public function write(string $text): void
    {
        $written = @\file_put_contents($this->file, $text);
        if ($written !== \strlen($text)) {
            throw NotComparable::unwritten($this->option, $this->file, \error_get_last()['message'] ?? 'the disk may be full');
        }
    }

    private static function same(string $file, string $other): bool
    {
        $path = static fn(string $name): string => \realpath($name) ?: (\realpath(\dirname($name)) ?: \dirname($name)) . '/' . \basename($name);

        return $path($file) === $path($other);
    }
}
