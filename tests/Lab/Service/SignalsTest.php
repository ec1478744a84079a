<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Signals;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

#[RequiresPhpExtension('pcntl')]
final class SignalsTest extends TestCase
{
    private int $handled = 0;
    private bool $async;

    protected function setUp(): void
    {
        $this->async = \pcntl_async_signals(true);
        \pcntl_signal(\SIGUSR2, function (): void {
            $this->handled++;
        });
    }

    protected function tearDown(): void
    {
        \pcntl_signal(\SIGUSR2, \SIG_DFL);
        \pcntl_async_signals($this->async);
    }

    public function testAHandlerWaitsForTheWorksEnd(): void
    {
        $during = Signals::held(function (): array {
            $this->signal();
            $inner = Signals::held(function (): int {
                $this->signal();

                return $this->handled;
            });

            return [$inner, $this->handled];
        });
        self::assertSame([0, 0], $during);
        self::assertSame(2, $this->handled);
        $this->signal();
        self::assertSame(3, $this->handled);
    }

    public function testWorkThatFailsLetsHandlersRunAgain(): void
    {
        try {
            Signals::held(function (): never {
                $this->signal();
                throw new \DomainException();
            });
        } catch (\DomainException) {
        }
        self::assertSame(1, $this->handled);
        self::assertTrue(\pcntl_async_signals());
    }

    private function signal(): void
    {
        \posix_kill((int) \getmypid(), \SIGUSR2);
        // Delivered before the call returns (kill(2)); PHP's handlers run at the next function's end.
        \usleep(1);
    }
}
