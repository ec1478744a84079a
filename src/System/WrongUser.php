<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * A cache directory belongs to another user. Larder makes no second cache beside it, which would serve values that the
 * first has already dropped. The message says which command to type instead.
 */
final class WrongUser extends \RuntimeException
{
    private function __construct(
        string $message,
        public readonly string $directory,
        /** The name of the directory's owner. */
        public readonly string $owner,
        /** The command to type instead; '' if this is not the command line. */
        public readonly string $command,
    ) {
        parent::__construct($message);
    }

    public static function of(string $directory, int $owner): self
    {
        $name = Ownership::name($owner);
        $me = Ownership::name(Ownership::user());
        $command = self::command($name);
        $message = 'The directory "' . $directory . '" belongs to ' . $name . ', and this process runs as ' . $me . '. ';

        return new self(
            $message . ($command === ''
                ? ($owner === 0 ? 'If' : 'Let this pool run as ' . $name . '. Or if') . ' no other user needs it, type as root: chown -R ' . self::quoted($me . ':') . ' ' . self::quoted($directory)
                    . '. Or give ' . $me . ' a directory of its own.'
                : 'Type instead: ' . $command),
            $directory,
            $name,
            $command,
        );
    }

    /** Root would become the owner: a directory above this library is closed to the other user. */
    public static function cannotRead(string $directory, int $owner, string $closed): self
    {
        $name = Ownership::name($owner);
        $command = 'chmod a+x ' . self::quoted($closed);

        return new self("The cache directory \"$directory\" belongs to $name, who cannot read Larder's own files below $closed. "
            . "Install Larder where $name can read it, or type: $command", $directory, $name, $command);
    }

    private static function command(string $owner): string
    {
        $words = $_SERVER['argv'] ?? null;
        if (\PHP_SAPI !== 'cli' || !\is_array($words)) {
            return '';
        }
        $command = 'sudo -u ' . self::quoted($owner);
        foreach (\array_values($words) as $i => $word) {
            if (!\is_string($word)) {
                continue;
            }
            if ($i === 0 && !\is_executable($word)) {
                $command .= ' php';
            }
            // What is hidden must be typed again.
            $command .= ' ' . self::quoted(Secret::hidden($word));
        }

        return $command;
    }

    /** Quotes a word for a shell. Some hosts disable escapeshellarg() (disable_functions). */
    public static function quoted(string $word): string
    {
        return \preg_match('~^[\w./:=@%+,-]+$~D', $word) === 1 ? $word : '\'' . \str_replace('\'', '\'\\\'\'', $word) . '\'';
    }
}
