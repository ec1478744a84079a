<?php

declare(strict_types=1);

namespace Larder\Store\File;

/** What the processes that share a directory agree on, kept in its lock file: written under the lock, read without. */
final class State
{
    /** Bytes that it takes, from the start of the file. */
    public const SIZE = 112;

    private const MAGIC = "LARDER\n\2";

    /**
     * @param string $epoch    16 hexadecimal digits
     * @param int    $base     position at the start of the current file of the log
     * @param int    $previous the same of the file before it, which is kept; -1 if there is none
     * @param int    $done     every change up to this position is stored, or never will be
     * @param int    $version  the last one given to an unlogged record
     * @param string $boot     the boot of the computer in which this epoch began; '' where that cannot be known
     * @param int    $inode    of the file in which this stands: a copy of the directory has others
     */
    public function __construct(
        public readonly string $epoch,
        public int $base,
        public int $previous,
        public int $done,
        public int $version,
        public readonly string $boot,
        public readonly int $inode,
    ) {}

    /**
     * @param resource $handle
     *
     * @return ?self null if there is none, it is damaged, or somebody is just writing it
     */
    public static function read(mixed $handle): ?self
    {
        \fseek($handle, 0);
        $bytes = \fread($handle, self::SIZE);
        if ($bytes === false || \strlen($bytes) !== self::SIZE || !\str_starts_with($bytes, self::MAGIC)) {
            return null;
        }
        if (\hash('xxh3', \substr($bytes, 16), true) !== \substr($bytes, 8, 8)) {
            return null;
        }
        /** @var array{epoch: string, base: int, previous: int, done: int, version: int, inode: int, boot: string}|false $field */
        $field = \unpack('a16epoch/Jbase/Jprevious/Jdone/Jversion/Jinode/A36boot', $bytes, 16);
        if ($field === false) {
            return null;
        }

        return new self(
            $field['epoch'],
            $field['base'],
            $field['previous'],
            $field['done'],
            $field['version'],
            $field['boot'],
            $field['inode'],
        );
    }

    /** @param resource $handle */
    public function write(mixed $handle): bool
    {
        $fields = \pack('a16JJJJJA40', $this->epoch, $this->base, $this->previous, $this->done, $this->version, $this->inode, $this->boot);
        \fseek($handle, 0);

        return \fwrite($handle, self::MAGIC . \hash('xxh3', $fields, true) . $fields) === self::SIZE;
    }
}
