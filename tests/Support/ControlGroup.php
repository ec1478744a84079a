<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use PHPUnit\Framework\Assert;

/** A control group of its own that may have so much memory; root alone can make one. */
final class ControlGroup
{
    private readonly string $directory;

    /** @param int $bytes that its processes may have, shared memory too */
    public function __construct(int $bytes)
    {
        $isUnified = \is_file('/sys/fs/cgroup/cgroup.controllers');
        $root = $isUnified ? '/sys/fs/cgroup' : '/sys/fs/cgroup/memory';
        $isUnified && @\file_put_contents("$root/cgroup.subtree_control", '+memory');
        $this->directory = "$root/larder-test-" . \getmypid() . '-' . \bin2hex(\random_bytes(3));
        if (!@\mkdir($this->directory) || @\file_put_contents($this->directory . ($isUnified ? '/memory.max' : '/memory.limit_in_bytes'), (string) $bytes) === false) {
            Assert::markTestSkipped('Needs root, and control groups for memory.');
        }
    }

    public function __destruct()
    {
        $end = \hrtime(true) + 5_000_000_000;
        while (\is_dir($this->directory) && !@\rmdir($this->directory) && \hrtime(true) < $end) {
            // The last process is on its way.
            \usleep(5_000);
        }
    }

    /**
     * A command whose process is in it from the beginning.
     *
     * @param list<string> $command
     *
     * @return list<string>
     */
    public function command(array $command, string $before = ':'): array
    {
        return ['sh', '-c', 'echo $$ > "$0/cgroup.procs" && ' . $before . ' && exec "$@"', $this->directory, ...$command];
    }
}
