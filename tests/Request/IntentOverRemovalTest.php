<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** An intent becomes its key's last change; what others did before it must count none the less. */
#[CoversNothing]
final class IntentOverRemovalTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    public function testASetAfterAnIntentDoesNotBringBackWhatWasDeletedBefore(): void
    {
        [$one, $other] = $this->two();
        self::assertSame('old', $one->get('k'));
        self::assertTrue($other->delete('k'));
        $one->intend('k');
        self::assertTrue($one->set('k', 'old, merged'));
        $this->gone();
    }

    public function testNorDoesOneThatMissedIt(): void
    {
        [$one, $other] = $this->two();
        $other->delete('k');
        $one->refresh();
        self::assertNull($one->get('k'));
        $other->set('k', 'newer');
        $other->delete('k');
        $one->intend('k');
        self::assertTrue($one->set('k', 'old'));
        $this->gone();
    }

    /** Whoever ends the intent of a dead process makes a change of its own, over one that it has not heard of. */
    public function testNorDoesOneThatEndedAnotherIntent(): void
    {
        [$one] = $this->two();
        self::assertSame('old', $one->get('k'));
        $pid = \pcntl_fork();
        if ($pid === 0) {
            try {
                $killed = Cache::open($this->dsn());
                $killed->intend('k');
            } finally {
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
        }
        \pcntl_waitpid($pid, $status);
        $one->flush();
        self::assertNull($one->get('k'));
        self::assertTrue($one->set('k', 'old, merged'));
        $this->gone();
    }

    public function testOneThatReadAfterwardsIsStored(): void
    {
        [$one, $other] = $this->two();
        $other->delete('k');
        $one->refresh();
        self::assertNull($one->get('k'));
        $one->intend('k');
        self::assertTrue($one->set('k', 'new'));
        self::assertSame('new', Cache::open($this->dsn())->get('k'));
    }

    /** @return array{Cache, Cache} two requests; k is stored */
    private function two(): array
    {
        $other = Cache::open($this->dsn());
        $other->set('k', 'old');

        return [Cache::open($this->dsn()), $other];
    }

    private function gone(): void
    {
        self::assertNull(Cache::open($this->dsn())->get('k'));
    }

    private function dsn(): string
    {
        return 'file://' . $this->directory->file('cache');
    }
}
