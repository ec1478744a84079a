<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Coalescing;

use Larder\Tests\Support\FastCgi;
use Larder\Tests\Support\FastCgiFailure;
use Larder\Tests\Support\FastCgiResponse;

/** Many visitors at once. Each sends his request now, and is answered when he is answered. */
final class Crowd
{
    /** @var array<int, FastCgi> those who wait */
    private array $waiting = [];

    /** @var array<int, ?FastCgiResponse> of those who have been answered; null: the process that worked for him died */
    public array $answers = [];

    /** @param list<string> $sockets of the servers, which they choose in turn */
    public function __construct(array $sockets, private readonly string $script, int $visitors, string $path = '/', string $cookie = '')
    {
        for ($visitor = 0; $visitor < $visitors; $visitor++) {
            $connection = new FastCgi($sockets[$visitor % \count($sockets)], 120.0);
            $connection->send($this->script, parameters: ['HTTP_HOST' => 'shop.example', 'REQUEST_URI' => $path, 'QUERY_STRING' => ''] + ($cookie === '' ? [] : ['HTTP_COOKIE' => $cookie]));
            $this->waiting[$visitor] = $connection;
        }
    }

    /**
     * Waits until that many have been answered, or all of them; false: not within half a minute.
     *
     * @param self ...$others who are there too
     */
    public function await(?int $answers = null, self ...$others): bool
    {
        $answers ??= \count($this->answers) + \count($this->waiting);
        for ($end = \hrtime(true) + 30_000_000_000; \count($this->answers) < $answers;) {
            if (\hrtime(true) > $end) {
                return false;
            }
            foreach ([$this, ...$others] as $crowd) {
                $crowd->receive();
            }
        }

        return true;
    }

    private function receive(): void
    {
        $ready = \array_map(static fn(FastCgi $connection): mixed => $connection->readable(), $this->waiting);
        $none = null;
        if ($ready === [] || \stream_select($ready, $none, $none, 0, 10_000) === 0) {
            return;
        }
        foreach (\array_keys($ready) as $visitor) {
            try {
                $this->answers[$visitor] = $this->waiting[$visitor]->receive();
            } catch (FastCgiFailure) {
                $this->answers[$visitor] = null;
            }
            // Only now does the worker turn to the next visitor.
            $this->waiting[$visitor]->close();
            unset($this->waiting[$visitor]);
        }
    }

    /** @return array<string, int> how many got each body */
    public function bodies(): array
    {
        $bodies = \array_count_values(\array_map(static fn(?FastCgiResponse $answer): string => $answer === null ? 'nothing' : $answer->body, $this->answers));
        \ksort($bodies);

        return $bodies;
    }
}
