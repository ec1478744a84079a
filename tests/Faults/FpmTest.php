<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\FpmServer;

/** In php-fpm, whose processes forget all they know at each request's end. */
final class FpmTest extends FaultCase
{
    private const SCRIPT = <<<'PHP'
        error_reporting(-1);
        set_error_handler(static function (int $level, string $message): never { throw new ErrorException($message); });
        $start = hrtime(true);
        $cache = Larder\Cache::open(json_decode($_GET['options'], true));
        $seen = $cache->get('k');
        $done = match ($_GET['do']) {
            'get' => null,
            'set' => $cache->set('k', $_GET['value']),
            'delete' => $cache->delete('k'),
            'clear' => apcu_clear_cache(),
        };
        echo json_encode(['pid' => getmypid(), 'seen' => $seen, 'done' => $done, 'seconds' => (hrtime(true) - $start) / 1e9]);
        PHP;

    private FpmServer $fpm;
    private string $script;
    private ?FarServer $server = null;

    protected function setUp(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('There is no php-fpm.');
        }
        parent::setUp();
        $this->fpm = new FpmServer(2);
        $this->script = $this->fpm->script('larder.php', self::SCRIPT);
        $this->server = FarServer::start('redis');
    }

    protected function tearDown(): void
    {
        if (isset($this->fpm)) {
            $this->fpm->stop();
            parent::tearDown();
        }
        $this->server?->end();
    }

    public function testOneLineAProcessHoweverManyRequests(): void
    {
        $options = $this->server?->options() ?? [];
        $this->keptFile($options);
        self::assertTrue($this->ask($options, 'set', 'old')['done']);
        $this->server?->kill();
        $processes = [];
        for ($i = 0; $i < 20; $i++) {
            $answer = $this->ask($options, $i % 2 === 0 ? 'get' : 'delete');
            self::assertNull($answer['seen']);
            self::assertSame($i % 2 === 0 ? null : false, $answer['done']);
            self::assertBounded($answer['seconds']);
            $processes[$answer['pid']] = true;
        }
        // A worker hands its lines to php-fpm's master, which writes them when it is its turn.
        for ($end = \hrtime(true) + 10_000_000_000; \count($this->lines()) < \count($processes) && \hrtime(true) < $end; \usleep(2_000));
        $this->server?->back();
        self::assertTrue($this->ask($options, 'set', 'new')['done']);
        self::assertSame('new', $this->ask($options, 'get')['seen']);
        $lines = $this->lines();
        self::assertCount(\count($processes), $lines, \implode("\n", $lines));
    }

    /** @return list<string> what Larder has logged */
    private function lines(): array
    {
        return \array_values(\array_filter(\explode("\n", $this->fpm->log()), static fn(string $line): bool => \str_contains($line, 'larder: ')));
    }

    public function testApcuClearedUnderRunningProcesses(): void
    {
        $options = ['near' => 'apcu'] + ($this->server?->options() ?? []);
        $this->keptFile($options);
        for ($i = 0; $i < 20; $i++) {
            self::assertTrue($this->ask($options, 'set', "value $i")['done']);
            self::assertSame("value $i", $this->ask($options, $i % 2 === 0 ? 'clear' : 'get')['seen']);
            self::assertSame("value $i", $this->ask($options, 'get')['seen']);
            self::assertSame("value $i", $this->ask($options, 'get')['seen']);
        }
    }

    public function testTheServerHangsBehindAFullNearTier(): void
    {
        $options = ['near' => 'apcu'] + ($this->server?->options() ?? []);
        $this->keptFile($options);
        self::assertTrue($this->ask($options, 'set', 'old')['done']);
        for ($i = 0; $i < 4; $i++) {
            self::assertSame('old', $this->ask($options, 'get')['seen']);
        }
        $this->server?->hang();
        for ($i = 0; $i < 3; $i++) {
            $answer = $this->ask($options, 'get');
            self::assertNull($answer['seen'], 'nobody can say whether what is near has changed');
            self::assertBounded($answer['seconds']);
        }
        self::assertFalse($this->ask($options, 'set', 'new')['done']);
        $this->server?->resume();
        for ($i = 0; $i < 4; $i++) {
            self::assertNull($this->ask($options, 'get')['seen']);
        }
        self::assertTrue($this->ask($options, 'set', 'newest')['done']);
        for ($i = 0; $i < 4; $i++) {
            self::assertSame('newest', $this->ask($options, 'get')['seen']);
        }
    }

    /**
     * @param array<string, mixed> $options
     *
     * @return array{pid: int, seen: ?string, done: ?bool, seconds: float}
     */
    private function ask(array $options, string $do, string $value = ''): array
    {
        $response = $this->fpm->request($this->script, options: \json_encode($options, \JSON_THROW_ON_ERROR), do: $do, value: $value);
        /** @var ?array{pid: int, seen: ?string, done: ?bool, seconds: float} $answer */
        $answer = \json_decode($response->body, true);
        self::assertIsArray($answer, $response->body . $response->errors);

        return $answer;
    }
}
