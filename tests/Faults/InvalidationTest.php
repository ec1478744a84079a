<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

/**
 * Invalidations while the server is away and comes back with its old data: the first process that reaches it applies
 * them before it reads, also when the one that could not record them is dead.
 */
final class InvalidationTest extends FaultCase
{
    private static ?FarServer $server = null;
    private string $prefix;

    protected function setUp(): void
    {
        self::$server ??= FarServer::start('redis');
        $this->prefix = 'p' . \bin2hex(\random_bytes(5));
        parent::setUp();
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        self::server()->resume();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server?->end();
        self::$server = null;
    }

    /** @return iterable<string, array{string, list<mixed>, bool, bool}> method, arguments, bystanders go too, group goes too */
    public static function invalidations(): iterable
    {
        yield 'delete' => ['delete', ['k'], false, false];
        yield 'deleteMultiple' => ['deleteMultiple', [['other', 'k']], false, false];
        yield 'set' => ['set', ['k', 'new'], false, false];
        yield 'set with tags' => ['set', ['k', 'new', 60, ['t']], false, false];
        yield 'set that has expired' => ['set', ['k', 'new', -1], false, false];
        yield 'setMultiple' => ['setMultiple', [['k' => 'new', 'other' => 'new']], false, false];
        yield 'invalidateTags' => ['invalidateTags', ['t'], false, false];
        yield 'flush' => ['flush', [], true, true];
        yield 'flush of a group' => ['inGroup', ['g', 'flush'], false, true];
        yield 'delete in a group' => ['inGroup', ['g', 'delete', 'k'], false, true];
    }

    /** @param list<mixed> $arguments */
    #[DataProvider('invalidations')]
    public function testTheFirstWhoReachesItAppliesIt(string $method, array $arguments, bool $all, bool $group): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        self::server()->hang();
        self::assertFalse($writer->call($method, ...$arguments));
        self::assertBounded($writer->seconds);
        $writer->process->kill();
        self::server()->resume();

        $fresh = new Client($options);
        // In the group of that name nobody was asked to change the root's k, and the other way round.
        self::assertSame($method === 'inGroup' ? 'old' : null, $fresh->call('get', 'k'));
        self::assertSame($group ? null : 'old', $fresh->call('inGroup', 'g', 'get', 'k'));
        self::assertSame($all ? null : 'stays', $fresh->call('get', 'bystander'));
        self::assertFalse($this->isPending($options));
        // And it was applied, not only hidden: from here on nobody knows of it but the store.
        self::assertSame($method === 'inGroup' ? 'old' : null, (new Client($options))->call('get', 'k'));
        self::assertTrue($fresh->call('set', 'k', 'newest'));
        self::assertSame('newest', (new Client($options))->call('get', 'k'));
    }

    public function testALongQueueOfReadersAndNoneSeesTheOldValue(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        self::server()->hang();
        $readers = [];
        for ($i = 0; $i < 4; $i++) {
            $readers[] = new Client();
        }
        self::assertFalse($writer->call('delete', 'k'));
        foreach ($readers as $reader) {
            // All of them wait for the server when it goes on.
            $reader->send('open', ['timeout' => 5.0] + $options);
            $reader->send('get', 'k');
        }
        \usleep(100_000);
        self::server()->resume();
        foreach ($readers as $reader) {
            $reader->answer();
            self::assertNull($reader->answer());
        }
    }

    public function testAnIntentThatEndsWhileTheServerIsAway(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        $writer->call('intend', 'k');
        self::server()->hang();
        $writer->call('close');
        $writer->process->kill();
        self::server()->resume();
        $fresh = new Client($options);
        self::assertNull($fresh->call('get', 'k'));
        // Its process is dead, so whoever noticed that has ended it.
        self::assertTrue($fresh->call('fill', 'k', 'new'));
        $fresh->call('writeFills');
        self::assertSame('new', (new Client($options))->call('get', 'k'));
    }

    public function testAnIntentThatCannotBePut(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        self::server()->hang();
        $writer->call('intend', 'k');
        $writer->process->kill();
        self::server()->resume();
        self::assertNull((new Client($options))->call('get', 'k'), 'what could not be announced counts as done');
    }

    #[Group('long')]
    public function testAnIntentThatCouldNotBePutEndsWithAChangeToo(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        self::server()->hang();
        $writer->call('intend', 'k');
        self::server()->resume();
        $reader = new Client($options);
        self::assertNull($reader->call('get', 'k'));
        self::assertTrue($reader->call('fill', 'k', 'computed before the writer wrote'));
        $reader->call('writeFills');
        self::rest();
        $writer->call('refresh');
        self::assertNull((new Client($options))->call('get', 'k'));
    }

    #[Group('long')]
    public function testANearTierFollows(): void
    {
        $options = ['near' => 'apcu'] + $this->options();
        $writer = $this->filled($options);
        $writer->call('refresh');
        self::assertSame('old', $writer->call('get', 'k'));
        self::server()->hang();
        self::assertFalse($writer->call('delete', 'k'));
        $writer->call('refresh');
        self::assertNull($writer->call('get', 'k'));
        self::assertNull($writer->call('get', 'bystander'), 'nobody can say whether it has changed');
        self::server()->resume();
        self::rest();
        $writer->call('refresh');
        self::assertNull($writer->call('get', 'k'));
        self::assertSame('stays', $writer->call('get', 'bystander'));
    }

    public function testTheServerThatSwallowsEverythingWhileOthersTryDoesNotKeepThemFromKeeping(): void
    {
        $options = $this->options();
        $this->filled($options);
        $first = new Client($options);
        $busy = new Client($options);
        self::server()->hang();
        self::assertFalse($first->call('delete', 'other'));
        for ($i = 0; $i < 4; $i++) {
            // Someone is always at it, and waits for a server that does not answer.
            $busy->send('open', $options);
            $victim = new Client($options);
            \usleep(20_000);
            self::assertFalse($victim->call('delete', "k$i"));
            $victim->process->kill();
            $busy->answer();
        }
        $bytes = (string) \file_get_contents($this->keptFile($options));
        for ($i = 0; $i < 4; $i++) {
            self::assertStringContainsString("e::k$i", $bytes);
        }
    }

    public function testWhatIsSetAllTheTimeCostsNobodyElseAnything(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        $counter = 'visitors of ' . \str_repeat('a long address ', 10);
        self::assertTrue($writer->call('set', $counter, 0));
        self::assertTrue($writer->call('add', 'lock', 1, 60));
        self::server()->hang();
        for ($i = 0; $i < 1000; $i++) {
            self::assertFalse($writer->call('set', $counter, $i));
        }
        $writer->process->kill();
        self::server()->resume();
        $fresh = new Client($options);
        self::assertNull($fresh->call('get', $counter));
        self::assertSame('stays', $fresh->call('get', 'bystander'));
        self::assertFalse($fresh->call('add', 'lock', 2, 60));
    }

    public function testMoreThanTheFileHolds(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        $writer->call('set', 'k1999', 'old');
        self::server()->hang();
        // From here on it is left alone.
        self::assertFalse($writer->call('delete', 'k'));
        $keys = [];
        for ($i = 0; $i < 2000; $i++) {
            $keys[] = "k$i";
            $keys[] = "k$i" . \str_repeat(' long', 120);
        }
        self::assertFalse($writer->call('deleteMultiple', $keys));
        $writer->process->kill();
        self::server()->resume();
        $fresh = new Client($options);
        foreach (['k', 'k1999', 'bystander'] as $key) {
            self::assertNull($fresh->call('get', $key), 'everything is flushed');
        }
        self::assertTrue($fresh->call('set', 'k', 'new'));
        self::assertSame('new', (new Client($options))->call('get', 'k'));
    }

    public function testADamagedFileFlushesEverything(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        self::server()->hang();
        self::assertFalse($writer->call('delete', 'k'));
        $writer->process->kill();
        self::server()->resume();
        \file_put_contents($this->keptFile($options), \random_bytes(300));
        $fresh = new Client($options);
        self::assertNull($fresh->call('get', 'k'));
        self::assertNull($fresh->call('get', 'bystander'));
        self::assertTrue($fresh->call('set', 'k', 'new'));
        self::assertSame('new', (new Client($options))->call('get', 'k'));
        self::assertFalse($this->isPending($options));
    }

    public function testTwoProcessesKeepAndApplyAtOnce(): void
    {
        $options = $this->options();
        $setup = new Client($options);
        $values = [];
        for ($i = 0; $i < 40; $i++) {
            $values["k$i"] = 'old';
        }
        self::assertTrue($setup->call('setMultiple', $values));
        $writers = [new Client($options), new Client($options)];
        self::server()->hang();
        foreach ($writers as $w => $writer) {
            for ($i = $w; $i < 20; $i += 2) {
                $writer->send('delete', "k$i");
            }
        }
        foreach ($writers as $w => $writer) {
            for ($i = $w; $i < 20; $i += 2) {
                self::assertFalse($writer->answer());
            }
        }
        self::server()->resume();
        // These apply while the writers, who rest yet, keep more.
        $appliers = [new Client(), new Client()];
        for ($i = 20; $i < 40; $i++) {
            $writers[$i % 2]->send('delete', "k$i");
            $appliers[$i % 2]->send('open', $options);
        }
        for ($i = 20; $i < 40; $i++) {
            $writers[$i % 2]->answer();
            $appliers[$i % 2]->answer();
        }
        foreach ($writers as $writer) {
            $writer->process->kill();
        }
        $fresh = new Client($options);
        self::assertSame([], $fresh->call('getMultiple', \array_keys($values)));
    }

    public function testACutNetwork(): void
    {
        $relay = new Relay(self::server()->redis()->socket);
        $options = ['far' => 'redis://127.0.0.1:' . $relay->port] + $this->options();
        $this->keptFile($options);
        $writer = $this->filled($options);
        $relay->cut();
        self::assertFalse($writer->call('delete', 'k'));
        self::assertFalse((new Client($options))->call('invalidateTags', 'u'));
        $relay->mend();
        $fresh = new Client($options);
        self::assertNull($fresh->call('get', 'k'));
        self::assertNull($fresh->call('get', 'tagged'));
        self::assertSame('stays', $fresh->call('get', 'bystander'));
        $relay->cut();
    }

    public function testAServerThatIsKilledAndStartedWithItsData(): void
    {
        $server = new RedisServer(appendOnly: true, config: ['appendfsync' => 'always']);
        $options = ['far' => 'redis://' . $server->socket] + $this->options();
        $this->keptFile($options);
        $writer = $this->filled($options);
        $server->kill();
        self::assertFalse($writer->call('delete', 'k'));
        self::assertFalse($writer->call('set', 'tagged', 'new'));
        $writer->process->kill();
        $server->start();
        self::assertContains('old', self::values($server), 'the server has its old data');
        foreach ([new Client($options), new Client($options)] as $client) {
            self::assertNull($client->call('get', 'k'));
            self::assertNull($client->call('get', 'tagged'));
            self::assertContains($client->call('get', 'bystander'), [null, 'stays']);
        }
        $client = new Client($options);
        self::assertTrue($client->call('set', 'k', 'new'));
        self::assertSame('new', (new Client($options))->call('get', 'k'));
    }

    public function testNobodyElseCanReadWhatIsKept(): void
    {
        $options = $this->options();
        $writer = $this->filled($options);
        self::server()->hang();
        self::assertFalse($writer->call('delete', 'private'));
        $file = $this->keptFile($options);
        self::assertSame('600', \decoct((int) \fileperms($file) & 0o777));
        self::assertSame('700', \decoct((int) \fileperms(\dirname($file)) & 0o777));
        self::assertStringContainsString('private', (string) \file_get_contents($file));
        self::server()->resume();
        (new Client($options))->call('get', 'k');
        self::assertSame('600', \decoct((int) \fileperms($file) & 0o777));
        self::assertSame('600', \decoct((int) \fileperms($file . '.gate') & 0o777));
    }

    /** @return list<string> the ends of all strings that it holds */
    private static function values(RedisServer $server): array
    {
        $ends = [];
        foreach ((array) $server->command('KEYS', '*:r:e:*') as $key) {
            $value = $server->command('GET', \is_scalar($key) ? (string) $key : '');
            $ends[] = \substr(\is_scalar($value) ? (string) $value : '', -3);
        }

        return $ends;
    }

    private static function server(): FarServer
    {
        return self::$server ?? throw new \LogicException('No server.');
    }

    /** @return array<string, mixed> */
    private function options(): array
    {
        $options = ['prefix' => $this->prefix] + self::server()->options();
        $this->keptFile($options);

        return $options;
    }

    /** @param array<string, mixed> $options */
    private function filled(array $options): Client
    {
        $client = new Client($options);
        self::assertTrue($client->call('set', 'k', 'old', 0, ['t']));
        self::assertTrue($client->call('set', 'tagged', 'old', 0, ['u']));
        self::assertTrue($client->call('set', 'bystander', 'stays'));
        self::assertTrue($client->call('inGroup', 'g', 'set', 'k', 'old'));
        $client->call('open', $options);
        $client->seconds = 0.0;

        return $client;
    }

    /** @param array<string, mixed> $options */
    private function isPending(array $options): bool
    {
        \clearstatcache();

        // A day's number while nothing waits.
        return \filemtime($this->keptFile($options)) > 1 << 17;
    }
}
