<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Segment;

/** Where a subject's segment lies: a file in a private directory in shared memory, which goes with the run. */
final class SharedFile
{
    /** @param array<string, string|int> $parameters shared: the directory, which need not be there yet */
    public static function path(array $parameters): string
    {
        return \rtrim((new Parameters($parameters))->text('shared'), '/') . '/segment';
    }

    /**
     * Opens it there, as large as APCu is in the same scenario.
     *
     * @throws EngineFailure
     */
    public static function open(string $path): Segment
    {
        if (!\class_exists(Segment::class, false)) {
            throw EngineFailure::off('The extension larder is not loaded', 'type make ext');
        }
        self::makeRoom(\dirname($path));

        return Segment::open($path, SegmentDriver::BYTES);
    }

    /** Makes the directory; processes at once come here together, and who does not make it finds it made. */
    public static function makeRoom(string $directory): void
    {
        if (\is_dir($directory)) {
            return;
        }
        try {
            \mkdir($directory, 0o700, true);
        } catch (\RuntimeException $e) {
            \clearstatcache();
            \is_dir($directory) || throw $e;
        }
    }

    /** Removes the segment, and what it locks by. */
    public static function clear(string $path): void
    {
        $directory = \dirname($path);
        foreach (\is_dir($directory) ? \scandir($directory) ?: [] : [] as $name) {
            if (\is_file("$directory/$name")) {
                \unlink("$directory/$name");
            }
        }
    }
}
