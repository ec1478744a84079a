<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge;

use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Queue\InteractsWithQueue;

/** A job. */
final class LaravelNote implements ShouldQueue
{
    use InteractsWithQueue;

    /** @var list<string> texts and attempts */
    public static array $handled = [];

    public function __construct(private readonly string $text) {}

    public function handle(): void
    {
        self::$handled[] = "$this->text {$this->attempts()}";
        if ($this->text === 'throw') {
            throw new \LogicException('no');
        }
        if ($this->text === 'again' && $this->attempts() === 1) {
            $this->release();
        }
    }
}
