<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * The name of a directory that a lab makes, by which a later lab knows what a dead one has left behind.
 *
 * It holds the process id, and the inode of the namespace of process ids: in a container that shares /tmp, the same
 * number is another process.
 */
final class Label
{
    public static function make(): string
    {
        return \sprintf('larder-lab-%d-%s-%s', \getmypid(), self::space(), \bin2hex(\random_bytes(4)));
    }

    /** Whether it is a lab's name, and that lab is dead. */
    public static function isLeftover(string $name): bool
    {
        return \preg_match('/^larder-lab-(\d+)-(\d+)-[0-9a-f]{8}$/D', $name, $parts) === 1
            && $parts[2] === self::space()
            && !self::lives((int) $parts[1]);
    }

    /** Whether there is such a process, and it has not ended: one that was not waited for yet is dead too. */
    public static function lives(int $pid): bool
    {
        $status = Silence::of(static fn(): string|false => \file_get_contents("/proc/$pid/stat"));
        if ($status !== false) {
            // The program's name, in parentheses, may hold anything (proc_pid_stat(5)).
            return !\in_array(\substr($status, (int) \strrpos($status, ')') + 2, 1), ['Z', 'X'], true);
        }

        // Without /proc, or it has ended. Another user's process answers EPERM (1).
        return !\is_dir('/proc/self') && (\posix_kill($pid, 0) || \posix_get_last_error() === 1);
    }

    private static function space(): string
    {
        $link = '/proc/self/ns/pid';

        return \is_link($link) ? (string) \preg_replace('/\D+/', '', (string) \readlink($link)) : '0';
    }
}
