<?php

declare(strict_types=1);

namespace Larder\Store\File;

/** The state that the processes of a directory share, in its lock file. Writers hold the lock; readers need none. */
final class State
{
    /** Bytes of the state, from the start of the file. */
    public const SIZE = 112;

    private const MAGIC = "LARDER\n\2";

    /**
     * @param string $epoch    16 hexadecimal digits
     * @param int    $base     position at the start of the journal's current file
     * @param int    $previous the same of the file before it, which is kept; -1: none
     * @param int    $done     every change up to this position is stored, or never will be
     * @param int    $version  the last version given to a record outside the journal
     * @param string $boot     the machine's boot during which this epoch began; '' if unknown
     * @param int    $inode    of the lock file: in a copy of the directory it differs
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
     * @return ?self null: there is none, it is damaged, or another process is writing it
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
