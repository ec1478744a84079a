<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\TableTask;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\Processes;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\WordPress\Browser;
use Larder\Lab\WordPress\Response;

/**
 * One page of one subject under load. What it answers is compared with what it must be, before the first request that
 * counts and after the last.
 */
final readonly class LoadTask extends TableTask
{
    /** Untimed requests: each worker has then seen the page. */
    private const WARM = 4 * Stand::WORKERS;

    /**
     * @param non-empty-list<Side>      $sides    of one subject and one page
     * @param string                    $tool     "hey" or "wrk", which tells latencies
     * @param string                    $path     of the page
     * @param bool                      $gzip     whether it is asked for so
     * @param \Closure(Response): ?string $check    what is wrong with an answer
     * @param int                       $requests that ab and hey make
     * @param float                     $seconds  that wrk asks for
     * @param int                       $threads  of wrk
     * @param ?Audit                    $audit    of what the requests did on the server
     */
    public function __construct(
        private Stand $stand,
        string $id,
        array $sides,
        private string $tool,
        private string $path,
        private bool $gzip,
        private \Closure $check,
        private int $requests,
        private float $seconds,
        private int $threads = 1,
        private ?Audit $audit = null,
    ) {
        parent::__construct($id, $sides);
    }

    public function perform(Context $context): array
    {
        [$scenario, $subject] = [$this->sides[0]->cell->scenario, $this->sides[0]->subject];
        $site = $this->stand->url($scenario, $subject, $context);
        $url = $site . $this->path;
        $account = $this->audit?->begin($this->stand->root($scenario, $subject), $site);
        for ($i = 0; $i < self::WARM; ++$i) {
            $this->ask($url);
        }
        $this->check($site);
        $found = [];
        foreach ($this->sides as $side) {
            $atOnce = $side->cell->concurrency;
            $operation = $side->cell->operation;
            $tool = \in_array($operation, ['ab', 'hey', 'wrk'], true) ? $operation : $this->tool;
            if (!isset($found["$tool $atOnce"])) {
                $pids = $this->stand->pids($scenario, $subject, $context);
                $before = Processes::microseconds($pids);
                // A page whose length is not known before its end closes a connection of HTTP/1.0, as ab's is.
                $figures = match ($tool) {
                    'ab' => ['rate' => Load::ab($url, $this->requests, $atOnce, $this->path !== Application::LOGIN, $this->gzip), 'requests' => $this->requests],
                    'hey' => Load::hey($url, $this->requests, $atOnce) + ['requests' => $this->requests],
                    default => Load::wrk($url, $this->seconds, $atOnce, $this->gzip, $this->stand->file('wrk.lua', $context), $this->threads),
                };
                $found["$tool $atOnce"] = $figures + ['cpu' => \round((Processes::microseconds($pids) - $before) / $figures['requests'], 1)];
            }
        }
        $this->check($site);
        $wrong = $account === null ? null : $account();
        $wrong === null || throw new ServiceFailure("$url: $wrong. " . \substr($this->stand->complaints(), -500));

        return \array_map(function (Side $side) use ($found): Measured {
            $atOnce = $side->cell->concurrency;
            $operation = $side->cell->operation;
            $figures = $found["$operation $atOnce"] ?? $found["$this->tool $atOnce"];
            $isRate = isset($found["$operation $atOnce"]);

            return match (true) {
                // By the clock, however many are asked for at once.
                $isRate => new Measured([\round(1e6 / $figures['rate'], 3)], $figures['rate']),
                $operation === 'latency' => new Measured($figures['latencies'] ?? []),
                default => new Measured([(float) ($figures[$operation] ?? 0.0)]),
            };
        }, $this->sides);
    }

    private function ask(string $url): Response
    {
        return Browser::of($url, $this->gzip ? ['Accept-Encoding' => 'gzip'] : []);
    }

    private function check(string $site): void
    {
        $url = $site . $this->path;
        $wrong = ($this->check)($this->ask($url));
        // Larder goes on without a near tier that has failed.
        $dsn = (string) ($this->sides[0]->subject->parameters['dsn'] ?? '');
        if (\preg_match('/near=(apcu|segment)/', $dsn, $near) === 1 && Browser::of("$site/" . Script::NEAR)->body !== $near[1]) {
            $wrong = "Larder does not use $near[1] as its near tier";
        }
        if ($wrong !== null) {
            throw new ServiceFailure("$url: $wrong. " . \substr($this->stand->complaints(), -500));
        }
    }
}
