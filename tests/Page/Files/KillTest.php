<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Page\PageCache;
use Larder\Tests\Support\Process;
use Nyholm\Psr7\Response;
use PHPUnit\Framework\Attributes\Group;
use Psr\Http\Message\ResponseInterface;

/** kill -9 before each system call with which a process changes something: strace sends it. */
final class KillTest extends FilesCase
{
    private const CHANGES = ['rename', 'link', 'unlink', 'rmdir', 'write', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'mkdir', 'flock', 'chmod', 'utimensat'];

    /** What takes least time to try, and how many calls lie between two that are killed: of writing the database there are few. */
    private const SOME = ['rename' => 11, 'unlink' => 11, 'pwrite64' => 1];

    protected function setUp(): void
    {
        parent::setUp();
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Tags' => 'menu'] + self::HTML, \str_repeat('page ', 100));
    }

    #[Group('long')]
    public function testAPurgerKilledAnywhereLeavesNoFileOfAPurgedPage(): void
    {
        $this->killPurgers(\array_fill_keys(self::CHANGES, 1));
    }

    #[Group('slow')]
    public function testAPurgerKilledSomewhereLeavesNoFileOfAPurgedPage(): void
    {
        $this->killPurgers(self::SOME);
    }

    #[Group('long')]
    public function testARecorderKilledAnywhereLeavesNoBrokenFileAndNoneThatAPurgeDoesNotFind(): void
    {
        $this->killRecorders(\array_fill_keys(self::CHANGES, 1));
    }

    #[Group('slow')]
    public function testARecorderKilledSomewhereLeavesNoBrokenFileAndNoneThatAPurgeDoesNotFind(): void
    {
        $this->killRecorders(self::SOME);
    }

    /** @param array<string, int> $changes */
    private function killPurgers(array $changes): void
    {
        $stored = [];
        foreach ($changes as $change => $step) {
            for ($call = \random_int(1, $step); ; $call += $step) {
                $this->cache = $this->other();
                $this->get('/a');
                self::assertNotSame([], $this->all());
                $isKilled = $this->kill('purge', $change, $call);
                // The next process comes.
                $this->cache = $this->other();
                $this->get('/private', ['Cookie' => 'session=1']);
                $isStored = $this->isStored('/a');
                $stored[] = $isStored;
                self::assertTrue($isStored || $this->all() === [], "killed before $change number $call");
                if (!$isKilled) {
                    self::assertFalse($isStored);
                    break;
                }
            }
        }
        // Some were killed before they had purged it, and some after.
        self::assertContains(true, $stored);
        self::assertContains(false, $stored);
    }

    /** Whether a page of the target is in the cache, under whatever further fields its key has. */
    private function isStored(string $target): bool
    {
        foreach ($this->cache->entries() as $key => $entry) {
            if ($entry['group'] === 'page' && \preg_match('~^phttp://shop\.example' . \preg_quote($target, '~') . '(?:\n|$)~', (string) $key) === 1) {
                return true;
            }
        }

        return false;
    }

    /** @param array<string, int> $changes */
    private function killRecorders(array $changes): void
    {
        $written = [];
        foreach ($changes as $change => $step) {
            for ($call = \random_int(1, $step); ; $call += $step) {
                $isKilled = $this->kill('record', $change, $call);
                foreach ($this->all() as $file) {
                    $content = (string) \file_get_contents("$this->static/$file");
                    self::assertSame(\str_repeat('page ', 100), \str_ends_with($file, '.gz') ? \gzdecode($content) : $content, "killed before $change number $call: $file");
                }
                $written[\count($this->all())] = true;
                self::assertTrue((new PageCache($this->other()))->purgeTags('menu'));
                self::assertSame([], $this->all(), "killed before $change number $call");
                if (!$isKilled) {
                    break;
                }
            }
        }
        // Some were killed before there was any file, and some between two of them.
        self::assertGreaterThan(2, \count($written));
    }

    /** @return bool whether the process was killed before it was done */
    private function kill(string $work, string $change, int $call): bool
    {
        // Each has a trace of its own: after a process that strace could not start, the former one's would be looked at.
        $trace = $this->directory->file("trace-$work-$change-$call");
        $process = new Process([
            'strace', '-f', '-o', $trace, '-e', "trace=$change", '-e', "inject=$change:signal=KILL:when=$call",
            \PHP_BINARY, __DIR__ . '/child.php', $work, 'sqlite://' . $this->directory->file('store'), $this->static,
        ]);
        $output = $process->output();
        $status = $process->wait();
        $isDone = \str_contains($output, 'done');
        $isDone || self::assertStringContainsString('killed by SIGKILL', (string) \file_get_contents($trace), "before $change number $call; exit status $status; printed: $output{$process->errors()}");

        return !$isDone;
    }
}
