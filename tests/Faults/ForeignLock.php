<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\TemporaryDirectory;

/** Another process computes something, and meanwhile another program, a backup say, locks the database for longer than is waited. */
trait ForeignLock
{
    use Forks;

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    /**
     * Returns when the other process has done its work, and the database is free again. That process goes on living.
     *
     * @param \Closure(\Closure(): void): mixed $work gets what locks the database in "cache" in the directory; what it returns lives on
     */
    private function worksWhileLocked(TemporaryDirectory $directory, \Closure $work): void
    {
        $this->fork(static function () use ($directory, $work): never {
            $foreign = null;
            $kept = $work(static function () use ($directory, &$foreign): void {
                $files = \glob("$directory->path/cache/*.db");
                $foreign = new \PDO('sqlite:' . ($files[0] ?? throw new \LogicException('No database.')));
                $foreign->exec('BEGIN EXCLUSIVE');
            });
            $foreign?->exec('ROLLBACK');
            $directory->write('ready', 'yes');
            while (true) {
                // With other work: the rest of the request, or the next ones of a worker of php-fpm.
                \sleep(60);
            }
        });
        $this->await(static fn(): bool => \is_file($directory->file('ready')));
    }
}
