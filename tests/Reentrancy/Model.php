<?php

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

/**
 * What a get may return, by key, in one process in which a call may come in the middle of another.
 *
 * A call in the middle is done when it returns, so after it only its value is right, or what the outer call writes. An
 * outer call may take effect before it or after it. A value is known by its text; '' stands for none.
 */
final class Model
{
    /** @var array<string, array<string, true>> by key */
    private array $may = [];

    /** @var array<string, array<string, true>> by key: all that was right at some time during the outer call */
    private array $during = [];

    /** @var array<string, string> by key: what the outer call writes */
    private array $outer = [];

    /** @var array<string, true> keys that a call in the middle has written, or tried to */
    private array $touched = [];

    /** Whether a call in the middle has come. */
    private bool $interrupted = false;

    private bool $inner = false;

    /**
     * Whether what an outer call did is being noted. PHP lets a signal's handler in between the read of what is right and the
     * write of what is then: what the handler notes in between would be overwritten. So nothing may come then.
     */
    public bool $isNoting = false;

    /** @param array<string, string> $writes by key, what the outer call writes; '' where it deletes */
    public function begin(array $writes): void
    {
        $this->outer = $writes;
        $this->touched = [];
        $this->during = $this->may;
        $this->interrupted = false;
    }

    /** The outer call has written nothing. */
    public function undo(): void
    {
        $this->outer = [];
    }

    /** @param bool $known false: it was left by an exception, or failed, and may have done it or not */
    public function end(bool $known): void
    {
        $this->isNoting = true;
        foreach ($this->outer as $key => $text) {
            if ($known && !isset($this->touched[$key])) {
                $this->may[$key] = [$text => true];
            } else {
                $this->may[$key] = [$text => true] + ($known ? [] : ['' => true]) + $this->now($key);
            }
        }
        $this->outer = [];
        $this->isNoting = false;
    }

    public function interrupt(): void
    {
        $this->inner = $this->interrupted = true;
    }

    public function resume(): void
    {
        $this->inner = false;
    }

    public function isTouched(string $key): bool
    {
        return isset($this->touched[$key]);
    }

    /** A call in the middle has written. */
    public function wrote(string $key, string $text, bool $done): void
    {
        $this->touched[$key] = true;
        $this->may[$key] = $done ? [$text => true] : [$text => true, '' => true] + $this->now($key);
        $this->during[$key] = $this->may[$key] + ($this->during[$key] ?? ['' => true]);
    }

    /** @return array<string, true> what an outer read that ends now may return, or one in the middle */
    public function allowed(string $key): array
    {
        $allowed = $this->inner ? $this->now($key) : $this->during[$key] ?? ['' => true];

        // A miss is no wrong answer while another call is under way.
        return $allowed + ($this->interrupted ? ['' => true] : []) + (isset($this->outer[$key]) ? [$this->outer[$key] => true] : []);
    }

    /** @return array<string, true> */
    public function now(string $key): array
    {
        return $this->may[$key] ?? ['' => true];
    }

    /** It was there, and is not any more: to be lost is not wrong, where an engine is being left alone. */
    public function maybeLost(string $key): void
    {
        $this->isNoting = true;
        $this->may[$key] = ['' => true] + $this->now($key);
        $this->isNoting = false;
    }

    /** @return list<string> */
    public function keys(): array
    {
        return \array_map(\strval(...), \array_keys($this->may));
    }
}
