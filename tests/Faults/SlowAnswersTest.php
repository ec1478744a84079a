<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Cache;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

/** A far server, or a network before it, that sends its answers a byte at a time: each byte gives a mere read time-out anew. */
final class SlowAnswersTest extends FaultCase
{
    private ?FarServer $server = null;
    private ?Relay $relay = null;

    protected function tearDown(): void
    {
        parent::tearDown();
        $this->relay?->cut();
        $this->server?->end();
    }

    /**
     * Seen to fail: each byte gave the server the whole time-out anew, and a get took 8 seconds.
     *
     * @param \Closure(Cache): mixed $call
     */
    #[DataProvider('bounded')]
    public function testAnswersThatComeByteByByteAreGivenUpAfterOneTimeOut(string $scheme, \Closure $call): void
    {
        $cache = $this->behindASlowRelay($scheme, 200);
        $start = \hrtime(true);
        self::assertEmpty($call($cache));
        // A busy machine has its time too; the answers take longer.
        self::assertLessThan(0.75, (\hrtime(true) - $start) / 1e9);
        self::assertStringContainsString('going on without it', $this->log->lines[0] ?? '');
    }

    /** @return iterable<string, array{string, \Closure(Cache): mixed}> */
    public static function bounded(): iterable
    {
        foreach (['memcached', 'predis'] as $scheme) {
            foreach (self::calls() as $name => $call) {
                yield "$name, $scheme" => [$scheme, $call];
            }
        }
    }

    /**
     * What phpredis cannot bound ends at least with the first call. Seen to fail: the second call waited for as long again.
     *
     * @param \Closure(Cache): mixed $call
     */
    #[DataProvider('others')]
    #[RequiresPhpExtension('redis')]
    public function testTheNextCallDoesNotWaitForAServerThatAnsweredTooLate(\Closure $call): void
    {
        // The answer to a deletion has some fifty bytes.
        $cache = $this->behindASlowRelay('redis', 1, 20);
        self::assertEmpty($call($cache));
        self::assertStringContainsString('no answer within 0.25 s; going on without it', $this->log->lines[0] ?? '');
        $start = \hrtime(true);
        self::assertNull($cache->get('slowly, too'));
        self::assertFalse($cache->delete('slowly, too'));
        self::assertLessThan(0.25, (\hrtime(true) - $start) / 1e9);
    }

    /** @return iterable<string, array{\Closure(Cache): mixed}> */
    public static function others(): iterable
    {
        foreach (self::calls() as $name => $call) {
            yield $name => [$call];
        }
    }

    /** @return array<string, \Closure(Cache): mixed> */
    private static function calls(): array
    {
        return [
            'get' => static fn(Cache $cache): mixed => $cache->get('slowly'),
            'delete' => static fn(Cache $cache): mixed => $cache->delete('slowly'),
        ];
    }

    /** @param positive-int $bytes half of those that the key "slowly" holds */
    /** @param int $pause milliseconds between two bytes */
    private function behindASlowRelay(string $scheme, int $bytes, int $pause = 6): Cache
    {
        $this->server = FarServer::start($scheme);
        $this->keptFile($this->server->options());
        self::assertTrue($this->open($this->server->options())->set('slowly', \bin2hex(\random_bytes($bytes))));
        $this->relay = new Relay($this->server->socket(), $pause);
        $options = ['far' => "$scheme://127.0.0.1:{$this->relay->port}", 'near' => 'none', 'timeout' => 0.25];
        $this->keptFile($options);
        $cache = $this->open($options);
        $cache->get('other');

        return $cache;
    }
}
