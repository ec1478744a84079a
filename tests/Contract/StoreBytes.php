<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Store\Change;
use Larder\Store\Record;
use PHPUnit\Framework\Attributes\DataProvider;

/** Part of StoreContract: any bytes are a key, any bytes are a body, as many as anybody likes; and all are counted. */
trait StoreBytes
{
    /** @return iterable<string, array{string}> */
    public static function hostileKeys(): iterable
    {
        yield 'zero' => ['0'];
        yield 'number' => ['1234567'];
        yield 'NUL' => ["\0"];
        yield 'NUL inside' => ["a\0b"];
        yield 'newlines' => ["a\r\nset x 0 0 1\r\nb\n"];
        yield 'spaces' => ['  a b  '];
        yield 'path' => ['../../../../etc/passwd'];
        yield 'php' => ['<?php echo 1;'];
        yield 'unicode' => ["e:\u{1F9C0}:gr\u{00fc}\u{00df}e\u{202e}"];
        yield 'glob and SQL' => ["a*?[x]%_'\";--"];
        yield 'invalid UTF-8' => ["\xff\xfe\x80"];
        yield 'all bytes' => [\implode('', \array_map(\chr(...), \range(0, 255)))];
        yield 'long' => [\str_repeat('k', 65_999) . "\0"];
        // Seen to fail over files: a group's name, encoded, has up to three times as many bytes as the longest key.
        yield 'longest' => ['e:' . \str_repeat('%FF', 65_536) . ':' . \str_repeat('k', 65_535) . "\0"];
    }

    #[DataProvider('hostileKeys')]
    public function testAnyBytesAreAKey(string $key): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        $other = \substr($key, 0, -1) . \chr(\ord($key[-1]) ^ 1);
        $guarded = $store->read([$key])->at;
        $position = self::put($store, $key, 'value of the key')->position;
        $view = $this->store()->read(\array_values(\array_filter([$key, $other, \trim($key)], static fn(string $k) => $k !== '')));
        self::assertSame('value of the key', ($view->records[$key] ?? null)?->body);
        self::assertArrayNotHasKey($other, $view->records);
        self::assertSame([[$key, $position, self::A, 's']], $store->since($start->epoch, $start->end, $start->token)->list);
        self::assertSame($key, self::attempt($store, new Change('k', 'v', self::B, guards: [$key => $guarded]))->guard);
        foreach ($store->each() as $found => $record) {
            self::assertSame([$key, 'value of the key'], [$found, $record->body]);
        }
        self::put($store, $key, null);
        self::assertNull(self::record($store, $key));
    }

    /** A store may ask for many keys in another way than for few. */
    public function testAnyBytesAreKeysAmongManyOthers(): void
    {
        $store = $this->store();
        $hostile = \array_column(\iterator_to_array(self::hostileKeys()), 0);
        foreach ([$hostile, \array_filter($hostile, static fn(string $key): bool => \preg_match('//u', $key) === 1)] as $round => $wanted) {
            // And what they begin with, as a key that was cut short would be.
            $wanted = [...$wanted, 'a', 'missing', ...\array_map(static fn(int $i): string => "key $i", \range(1, 20 + $round))];
            $expected = [];
            foreach ($wanted as $i => $key) {
                if ($key !== 'missing') {
                    self::put($store, $key, $expected[$key] = "value $i of round $round");
                }
            }
            $found = \array_map(static fn(Record $record): string => $record->body, $this->store()->read(\array_values($wanted))->records);
            \ksort($found);
            \ksort($expected);
            self::assertSame($expected, $found);
        }
    }

    /** @return iterable<string, array{string}> */
    public static function bodies(): iterable
    {
        $bytes = \implode('', \array_map(\chr(...), \range(0, 255)));
        yield 'empty' => [''];
        yield 'zero' => ['0'];
        yield 'one NUL' => ["\0"];
        yield 'all bytes' => [$bytes];
        yield 'newline at the end' => ["a\r\n"];
        yield '20 kB' => [\str_repeat($bytes, 80)];
        yield '2 MB' => [\str_repeat($bytes, 8192)];
    }

    #[DataProvider('bodies')]
    public function testAnyBytesAreABody(string $body): void
    {
        $store = $this->store();
        $position = self::put($store, 'k', $body)->position;
        self::put($store, 'after', 'x');
        $record = self::record($this->store(), 'k');
        self::assertNotNull($record);
        self::assertTrue($body === $record->body, 'The body came back changed.');
        self::assertSame($position, $record->position);
        self::put($store, 'k', 'short');
        self::assertSame('short', self::record($this->store(), 'k')?->body);
        self::assertFalse(self::attempt($store, new Change('k', $body, self::B, 0))->done);
    }

    public function testManyAtOnce(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        $changes = [];
        for ($i = 0; $i < 300; $i++) {
            $changes[] = new Change("e:g:$i", "body $i", self::A);
        }
        self::assertCount(300, $store->write($changes));
        $view = $store->read(\array_map(static fn(int $i) => "e:g:$i", \range(0, 399)));
        self::assertCount(300, $view->records);
        for ($i = 0; $i < 300; $i++) {
            self::assertSame("body $i", $view->records["e:g:$i"]->body);
        }
        self::assertCount(300, $this->store()->since($start->epoch, $start->end, $start->token)->list);
        $all = static::all($store, 300);
        self::assertCount(300, $all);
        self::assertSame('body 299', $all['e:g:299']->body);
    }

    public function testEachGivesWhatIsThereAndNothingElse(): void
    {
        $store = $this->store();
        $position = self::put($store, '12', 'v')->position;
        self::put($store, 'gone', 'v');
        self::put($store, 'gone', null);
        $all = static::all($this->store(), 1);
        self::assertEquals(['12' => new Record('v', $position, self::A)], $all);
    }

    public function testStatsCount(): void
    {
        $store = $this->store();
        foreach (['a', 'b', 'c'] as $key) {
            self::put($store, $key, \str_repeat('x', 1000));
        }
        $stats = $store->stats();
        self::assertSame(['engine', 'entries', 'bytes', 'budget'], \array_keys($stats));
        self::assertNotSame('', $stats['engine']);
        self::assertGreaterThanOrEqual(3, $stats['entries']);
        self::assertGreaterThanOrEqual(3000, $stats['bytes']);
        self::assertGreaterThanOrEqual(0, $stats['budget']);
        $store->tidy();
        self::assertSame('x', self::record($store, 'a')?->body[0], 'Tidying removes nothing that is within the budget.');
    }
}
