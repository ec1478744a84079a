<?php

declare(strict_types=1);

namespace Larder\Tests\Security;

use Larder\Cache;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/**
 * Whoever can write to an open Redis cannot make objects here, nor move values between keys; and a string that an
 * application stores stays a string.
 *
 * This folder holds what an attacker tries: in the data, in the names.
 */
final class PoisonTest extends TestCase
{
    private const SECRET = 'at least thirty-two random characters';

    private static ?RedisServer $server = null;
    private string $prefix;
    private ?TemporaryDirectory $directory = null;

    protected function setUp(): void
    {
        RedisServer::demand();
        self::$server ??= new RedisServer();
        $this->prefix = 'p' . \bin2hex(\random_bytes(5));
        Trap::$sprung = 0;
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->directory = null;
    }

    public static function tearDownAfterClass(): void
    {
        self::$server = null;
    }

    public function testWhatSomebodyElseWroteIsAMissAndMakesNoObject(): void
    {
        $unsigned = $this->cache(null);
        $unsigned->set('k', new Trap());
        // Without a secret everybody who can write to the server is trusted: the poison works.
        $record = $this->command('GET', $this->record('k'));
        self::assertInstanceOf(Trap::class, $this->cache(null)->get('k'));
        Trap::$sprung = 0;

        $signed = $this->cache();
        self::assertTrue($signed->set('k', 'good') && $signed->delete('k') && $signed->set('other', 'good'));
        $this->put('k', $record);
        foreach ([$signed, $this->cache()] as $cache) {
            $cache->refresh();
            self::assertNull($cache->get('k'));
            self::assertFalse($cache->has('k'));
            self::assertSame([], $cache->getMultiple(['k']));
            self::assertSame('computed', $cache->remember('k', static fn(): string => 'computed'));
            $this->put('k', $record);
        }
        self::assertFalse($this->cache()->replace('k', 'x'), 'there is nothing to replace');
        self::assertSame(1, $this->cache()->increment('k'), 'it counts as absent');
        $this->put('k', $record);
        self::assertSame('not readable', $this->cache()->inspect('k')[1]['kind']);
        self::assertSame(['other'], \array_keys(\iterator_to_array((static fn() => yield from $signed->entries())())));
        self::assertSame(0, Trap::$sprung);
        self::assertTrue($this->cache()->set('k', 'good again'));
        self::assertSame('good again', $this->cache()->get('k'));
    }

    public function testASignedRecordCountsUnderItsOwnKeyOnly(): void
    {
        $cache = $this->cache();
        $cache->set('is admin of anna', true);
        $cache->set('is admin of bert', false);
        $cache->group('g')->set('is admin of bert', 'of the group');
        $stolen = $this->command('GET', $this->record('is admin of anna'));
        $this->put('is admin of bert', $stolen);
        self::assertNull($this->cache()->get('is admin of bert'));
        $this->put('is admin of bert', $this->command('GET', $this->record('is admin of bert', 'g')));
        self::assertNull($this->cache()->get('is admin of bert'), 'nor between groups');
        self::assertTrue($this->cache()->get('is admin of anna'));
        // Seen to fail: nor between the sites of a server that share a secret.
        $site = $this->prefix;
        $this->prefix .= '-other-site';
        $this->cache()->set('is admin of bert', 'of the other site');
        $stolen = $this->command('GET', $this->record('is admin of bert'));
        $this->prefix = $site;
        $this->put('is admin of bert', $stolen);
        self::assertNull($this->cache()->get('is admin of bert'));
        // Without a secret nothing keeps the two apart.
        $this->cache(null)->set('is admin of anna', true);
        $this->put('is admin of bert', $this->command('GET', $this->record('is admin of anna')));
        self::assertTrue($this->cache(null)->get('is admin of bert'));
    }

    public function testEveryBitOfASignedValueCounts(): void
    {
        $this->cache()->set('k', ['price' => 100], 60, ['tag']);
        $record = $this->command('GET', $this->record('k'));
        // Before it stands what the store says about the record.
        for ($i = \strlen($record) - 1; $record[$i] !== 's' || $i > 45; $i--) {
            $changed = $record;
            $changed[$i] = \chr(\ord($changed[$i]) ^ (1 << ($i % 8)));
            $this->put('k', $changed);
            self::assertNull($this->cache()->get('k'), "byte $i");
        }
        $this->put('k', $record);
        self::assertSame(['price' => 100], $this->cache()->get('k'));
        for ($length = 45; $length < \strlen($record); $length += 3) {
            $this->put('k', \substr($record, 0, $length));
            self::assertNull($this->cache()->get('k'));
        }
    }

    public function testAnotherSecretOrNoneIsAMiss(): void
    {
        $this->cache()->set('k', 'v');
        self::assertNull($this->cache('another secret of the same length ....')->get('k'));
        self::assertNull($this->cache(null)->get('k'));
        $this->cache(null)->set('k', 'v');
        self::assertNull($this->cache()->get('k'), 'who turns the secret on begins cold');
    }

    /** @return iterable<string, array{string}> */
    public static function strings(): iterable
    {
        $trap = 'O:25:"Larder\Tests\Security\Trap":1:{s:4:"note";s:4:"trap";}';
        yield 'serialized object' => [$trap];
        yield 'array with an object' => ['a:1:{i:0;' . $trap . '}'];
        yield 'serialized false' => ['b:0;'];
        yield 'igbinary' => [\function_exists('igbinary_serialize') ? (string) \igbinary_serialize([1, 2]) : "\0\0\0\2"];
        yield 'msgpack' => [\function_exists('msgpack_serialize') ? \msgpack_serialize([1, 2]) : "\x92\1\2"];
        yield 'gzip' => [(string) \gzcompress(\str_repeat($trap, 100))];
        for ($mark = 0; $mark < 64; $mark++) {
            yield "a codec's mark $mark" => [\chr($mark) . "\0\0\0\0" . $trap];
            yield "two of it $mark" => [\chr($mark) . \chr($mark) . $trap];
        }
        yield 'an entry' => ['v' . \str_repeat("\0", 8) . "\1\0\0\0\0" . $trap];
        yield 'a large one' => [\str_repeat($trap, 2000)];
        yield 'nothing' => [''];
        yield 'a number' => ['17'];
    }

    #[DataProvider('strings')]
    public function testAStoredStringStaysAString(string $string): void
    {
        $this->directory = new TemporaryDirectory();
        foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
            if ($serializer !== 'php' && !\extension_loaded($serializer)) {
                continue;
            }
            foreach (['none', 'gzip'] as $compressor) {
                $options = ['disk' => 'sqlite://' . $this->directory->path . '/cache', 'serializer' => $serializer, 'compressor' => $compressor];
                $cache = Cache::open($options);
                self::assertTrue($cache->set('k', $string));
                self::assertTrue($cache->set('list', [$string, ['in' => $string]]));
                foreach ([$cache, ...\array_map(static fn(string $near): Cache => Cache::open(['near' => $near] + $options), ['none', 'apcu', 'apcu', 'segment', 'segment'])] as $reader) {
                    self::assertSame($string, $reader->get('k'));
                    self::assertSame([$string, ['in' => $string]], $reader->get('list'));
                }
            }
        }
        self::assertSame(0, Trap::$sprung);
    }

    private function cache(?string $secret = self::SECRET): Cache
    {
        // What lies before the server is not what somebody else can write.
        return Cache::open(['near' => 'none', 'far' => 'redis://' . self::server()->socket, 'prefix' => $this->prefix, 'secret' => $secret, 'serializer' => 'php']);
    }

    private static function server(): RedisServer
    {
        return self::$server ?? throw new \LogicException('No server.');
    }

    private function command(string $name, string ...$arguments): string
    {
        $reply = self::server()->command($name, ...$arguments);

        return \is_scalar($reply) || $reply instanceof \Stringable ? (string) $reply : '';
    }

    /** What Redis calls the record of a key. */
    private function record(string $key, string $group = ''): string
    {
        $epoch = \strstr($this->command('GET', $this->prefix . ':head'), ' ', true);

        return $this->prefix . ':' . $epoch . ':r:e:' . $group . ':' . $key;
    }

    private function put(string $key, string $record): void
    {
        self::assertSame('OK', $this->command('SET', $this->record($key), $record));
    }
}
