<?php

declare(strict_types=1);

namespace Larder\Console\Warm;

use Larder\Console\Page\Visit;

/** Asks a site for pages, some at a time, as fast as it takes that well. */
final class Warmer
{
    /** Statuses by which a site says that it has too much to do, or fails. */
    private const OVERLOADED = [429, 500, 502, 503, 504];

    /** Seconds between two looks at what else there is to do. */
    private const LOOK = 0.2;

    /** @var list<Transfer> under way */
    private array $running = [];

    /** @var array<string, int> by URL */
    private array $failures = [];

    private bool $isStopped = false;

    /**
     * @param Visit                        $visit   its fields are sent
     * @param ?string                      $to      host and port that are asked in the place of the URLs'
     * @param float                        $timeout seconds for each page
     * @param int                      $tries   how often a page is asked for that fails
     * @param \Closure(Visit): bool        $skip    whether a page needs no request; asked just before it
     * @param \Closure(Transfer): void     $done    told each answer, or failure, that is the last for its page
     */
    public function __construct(
        private readonly Visit $visit,
        private readonly Pace $pace,
        private readonly ?string $to,
        private readonly float $timeout,
        private readonly int $tries,
        private readonly \Closure $skip,
        private readonly \Closure $done,
    ) {}

    /**
     * @param list<string> $urls
     *
     * @return list<string> those that were not asked for, because of stop() or because the site does nothing but fail
     */
    public function warm(array $urls): array
    {
        $queue = \array_reverse($urls);
        while ($this->running !== [] || ($queue !== [] && !$this->isStopped && !$this->pace->isHopeless())) {
            while ($queue !== [] && !$this->isStopped && !$this->pace->isHopeless() && $this->pace->mayBegin(\count($this->running), self::now())) {
                $visit = $this->visit->to((string) \array_pop($queue));
                if (!($this->skip)($visit)) {
                    $this->running[] = Transfer::begin($visit, $this->to, false, $this->timeout);
                }
            }
            $pause = $this->pace->pause(self::now());
            foreach (Transfer::advance($this->running, $this->running === [] && $pause > 0.0 ? \min($pause, self::LOOK) : ($this->running === [] ? 0.0 : self::LOOK)) as $transfer) {
                $this->running = \array_values(\array_filter($this->running, static fn(Transfer $other): bool => $other !== $transfer));
                if ($this->judge($transfer)) {
                    ($this->done)($transfer);
                } else {
                    \array_unshift($queue, $transfer->visit->url);
                }
            }
        }

        return \array_reverse($queue);
    }

    /** Begins no further request, and waits for those under way; called again, abandons them. */
    public function stop(): void
    {
        if ($this->isStopped) {
            foreach ($this->running as $transfer) {
                $transfer->abandon();
            }
        }
        $this->isStopped = true;
    }

    /** @return bool whether it was the last try */
    private function judge(Transfer $transfer): bool
    {
        if ($transfer->failure === '' && !\in_array($transfer->status, self::OVERLOADED, true)) {
            $this->pace->answered($transfer->seconds);

            return true;
        }
        $wish = $transfer->fields['retry-after'] ?? '';
        $this->pace->failed(self::now(), \preg_match('/^\d{1,6}$/D', $wish) === 1 ? (float) $wish : null);
        $url = $transfer->visit->url;
        $this->failures[$url] = ($this->failures[$url] ?? 0) + 1;

        return $this->isStopped || $this->failures[$url] >= $this->tries;
    }

    private static function now(): float
    {
        return \hrtime(true) / 1e9;
    }
}
