<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

/**
 * The user's own directory beside a far truth, with the near tier's lock and the invalidations that could not be
 * recorded: gone, or not writable.
 */
final class StateDirectoryTest extends FaultCase
{
    /** The state where it is without the setting that tests run with. */
    private const USUAL = ['larder.state' => ''];

    private ?FarServer $server = null;
    private int $user;
    private string $directory;

    protected function setUp(): void
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Needs root, to become a user with a directory of its own.');
        }
        $this->user = \random_int(200_000, 900_000);
        $this->directory = '/var/tmp/larder-' . $this->user;
        $this->server = FarServer::start('redis');
        parent::setUp();
    }

    protected function tearDown(): void
    {
        if ($this->server !== null) {
            parent::tearDown();
            $this->server->end();
            \exec('rm -rf ' . \escapeshellarg($this->directory));
        }
    }

    public function testItIsMadeAndPrivate(): void
    {
        $client = new Client($this->options(), $this->user, self::USUAL);
        self::assertTrue($client->call('set', 'k', 'v'));
        self::assertSame($this->user, \fileowner($this->directory));
        self::assertSame('700', \decoct((int) \fileperms($this->directory) & 0o777));
        foreach (\glob($this->directory . '/*') ?: [] as $file) {
            self::assertSame('600', \decoct((int) \fileperms($file) & 0o777), $file);
        }
    }

    public function testNotWritable(): void
    {
        \mkdir($this->directory, 0o500);
        \chown($this->directory, $this->user);
        $client = new Client($this->options(), $this->user, self::USUAL);
        self::assertTrue($client->call('set', 'k', 'old'));
        self::assertTrue($client->call('set', 'k', 'v'));
        $client->call('refresh');
        self::assertSame('v', $client->call('get', 'k'));
        self::assertTrue((new Client($this->options(), $this->user, self::USUAL))->call('set', 'k', 'others'));
        $client->call('refresh');
        self::assertSame('others', $client->call('get', 'k'));
        self::assertSame(1, $client->call('increment', 'count'));
        // An invalidation has no file to be kept in, and this process has to do.
        $this->server?->hang();
        $client->seconds = 0.0;
        self::assertFalse($client->call('delete', 'k'));
        self::assertNull($client->call('get', 'k'));
        self::assertBounded($client->seconds);
        self::assertCount(1, $client->log(), $client->process->errors());
        $this->server?->resume();
        self::rest();
        $client->call('refresh');
        self::assertNull($client->call('get', 'k'));
        self::assertNull((new Client($this->options(), $this->user, self::USUAL))->call('get', 'k'));
    }

    public function testGoneUnderARunningProcess(): void
    {
        $client = new Client($this->options(), $this->user, self::USUAL);
        $other = new Client($this->options(), $this->user, self::USUAL);
        self::assertTrue($client->call('set', 'k', 'old'));
        \exec('rm -rf ' . \escapeshellarg($this->directory));
        self::assertTrue($client->call('set', 'k', 'new'));
        foreach ([$client, $other] as $each) {
            $each->call('refresh');
            self::assertSame('new', $each->call('get', 'k'));
        }
        self::assertTrue($other->call('set', 'k', 'newer'));
        $client->call('refresh');
        self::assertSame('newer', $client->call('get', 'k'));
        \exec('rm -rf ' . \escapeshellarg($this->directory));
        $this->server?->hang();
        self::assertFalse($client->call('delete', 'k'));
        self::assertNull($client->call('get', 'k'));
        self::assertCount(1, $client->log(), $client->process->errors());
        $this->server?->resume();
        self::rest();
        $client->call('refresh');
        self::assertNull($client->call('get', 'k'));
        self::assertNull((new Client($this->options(), $this->user, self::USUAL))->call('get', 'k'));
        self::assertTrue($client->call('set', 'k', 'newest'));
        self::assertSame('newest', (new Client($this->options(), $this->user, self::USUAL))->call('get', 'k'));
    }

    public function testNobodyElseCanEvenLookIntoIt(): void
    {
        $client = new Client($this->options(), $this->user, self::USUAL);
        $this->server?->hang();
        self::assertFalse($client->call('delete', 'a secret key'));
        $this->server?->resume();
        $other = new Client([], $this->user + 1, self::USUAL);
        $files = \glob($this->directory . '/kept-*') ?: [];
        self::assertNotSame([], $files);
        // Another user gets no cache there, and is told what to type.
        try {
            $other->call('open', ['disk' => 'sqlite://' . $this->directory]);
            self::fail('A directory of another user was used.');
        } catch (\RuntimeException $e) {
            self::assertStringContainsString('WrongUser', $e->getMessage());
        }
    }

    /** Anybody may make a directory in /var/tmp, also under the name of another user's. */
    public function testOneThatSomebodyElseHasMadeIsNotUsedAndStopsNothing(): void
    {
        \mkdir($this->directory, 0o777);
        \chmod($this->directory, 0o777);
        \chown($this->directory, $this->user + 1);
        \touch($this->directory . '/victim');
        foreach ([$this->options(), ['near' => 'none'] + $this->options(), ['near' => 'apcu'] + $this->options()] as $i => $options) {
            $client = new Client($options, $this->user, self::USUAL);
            self::assertTrue($client->call('set', 'k', "v$i"));
            $client->call('refresh');
            self::assertSame("v$i", $client->call('get', 'k'));
            self::assertSame("v$i", (new Client($options, $this->user, self::USUAL))->call('get', 'k'));
            self::assertCount(1, $client->log(), $client->process->errors());
            self::assertStringContainsString('belongs to #' . ($this->user + 1), \implode('', $client->log()));
        }
        self::assertSame(['victim'], \array_values(\array_diff(\scandir($this->directory) ?: [], ['.', '..'])));
        // Where it was asked for, there is a refusal with what to do.
        $this->expectExceptionMessage('WrongUser');
        (new Client([], $this->user, self::USUAL))->call('open', ['disk' => 'sqlite://']);
    }

    /** @return array<string, mixed> */
    private function options(): array
    {
        return ['near' => 'apcu', 'far' => 'redis://127.0.0.1:' . $this->server?->redis()->port, 'timeout' => self::TIMEOUT];
    }
}
