<?php

declare(strict_types=1);

namespace Larder\Tests\Console;

use Larder\Cache;
use Larder\Console\Application;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\System\Clock;
use Larder\System\IncidentLog;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Tester\ApplicationTester;

#[CoversClass(Application::class)]
final class CommandsTest extends TestCase
{
    private TemporaryDirectory $root;
    private string $dsn;

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
        $this->dsn = 'sqlite://' . $this->root->path . '/cache';
    }

    /**
     * @param array<string, mixed> $arguments
     *
     * @return array{int, string, string} status, output, errors
     */
    private function tell(string $command, array $arguments = [], bool $decorated = false): array
    {
        $application = new Application();
        $application->setAutoExit(false);
        $tester = new ApplicationTester($application);
        $tester->run(
            ['command' => $command] + $arguments + ['--dsn' => $this->dsn],
            ['capture_stderr_separately' => true, 'interactive' => false, 'decorated' => $decorated],
        );

        return [$tester->getStatusCode(), $tester->getDisplay(true), $tester->getErrorOutput(true)];
    }

    /**
     * @param array<string, mixed> $arguments
     *
     * @return array<array-key, mixed>
     */
    private function json(string $command, array $arguments = [], int $status = Application::OK): array
    {
        [$got, $output, $errors] = $this->tell($command, $arguments + ['--json' => true]);
        self::assertSame($status, $got, $errors);
        $document = \json_decode($output, true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($document);

        return $document;
    }

    public function testSetAndGet(): void
    {
        [$status, $output, $errors] = $this->tell('set', ['key' => 'greeting', 'value' => 'Good <info>morning</info>', '--ttl' => '100']);
        self::assertSame([0, "stored\n"], [$status, $output]);
        self::assertStringStartsWith('larder: ', $errors);
        self::assertStringContainsString('sqlite in ' . $this->root->path . '/cache, as ', $errors);

        self::assertSame('Good <info>morning</info>', Cache::open($this->dsn)->get('greeting'));
        [$status, $output] = $this->tell('get', ['key' => 'greeting']);
        self::assertSame([0, 'Good <info>morning</info>'], [$status, $output], 'a string byte for byte, without a line\'s end');
        [, $output] = $this->tell('get', ['key' => 'greeting'], true);
        self::assertSame("Good <info>morning</info>\n", $output, 'with one on a terminal');
    }

    /** @return iterable<string, array{string, string, mixed}> */
    public static function typed(): iterable
    {
        yield 'string' => ['string', '5', '5'];
        yield 'int' => ['int', '-5', -5];
        yield 'float' => ['float', '1.5', 1.5];
        yield 'true' => ['bool', 'yes', true];
        yield 'false' => ['bool', 'false', false];
        yield 'null' => ['null', '', null];
        yield 'json' => ['json', '{"a": [1, 2.0, null]}', ['a' => [1, 2.0, null]]];
        yield 'json null' => ['json', 'null', null];
    }

    #[DataProvider('typed')]
    public function testValuesHaveTypes(string $type, string $text, mixed $value): void
    {
        self::assertTrue($this->json('set', ['key' => 'k', 'value' => $text, '--type' => $type])['done']);

        self::assertSame($value, Cache::open($this->dsn)->get('k', 'none'));
        $document = $this->json('get', ['key' => 'k']);
        self::assertTrue($document['found']);
        self::assertSame(\get_debug_type($value), $document['type']);
        self::assertSame($value, $document['value']);
    }

    public function testValuesThatJsonDoesNotKnow(): void
    {
        $cache = Cache::open($this->dsn);
        $cache->set('bytes', "\xff\x00");
        $cache->set('object', new \ArrayObject(['inside' => 1]));
        $cache->set('objects', ['a' => new \ArrayObject(['inside' => 1])]);
        $cache->set('infinite', \INF);
        $cache->set('bytes inside', ["\xff"]);
        $itself = ['one' => 1];
        $itself['again'] = &$itself;
        $itself['and again'] = &$itself;
        $cache->set('itself', $itself);
        $deep = 1;
        for ($level = 0; $level < 512; $level++) {
            $deep = [$deep];
        }
        $cache->set('deep', $deep);

        self::assertSame(['key' => 'bytes', 'found' => true, 'type' => 'string', 'encoding' => 'base64', 'value' => '/wA='], $this->json('get', ['key' => 'bytes']));
        foreach (['object', 'objects'] as $key) {
            $document = $this->json('get', ['key' => $key]);
            self::assertSame('print_r', $document['encoding']);
            self::assertIsString($document['value']);
            self::assertStringContainsString('[inside] => 1', $document['value']);
        }
        self::assertSame('INF', $this->json('get', ['key' => 'infinite'])['value']);
        self::assertSame('print_r', $this->json('get', ['key' => 'bytes inside'])['encoding']);
        self::assertSame('print_r', $this->json('get', ['key' => 'itself'])['encoding']);
        self::assertSame('print_r', $this->json('get', ['key' => 'deep'])['encoding']);
        self::assertSame("\xff\x00", $this->tell('get', ['key' => 'bytes'])[1]);
        self::assertStringContainsString('[inside] => 1', $this->tell('get', ['key' => 'object'])[1]);
    }

    public function testWhatIsNotThereHasStatusOne(): void
    {
        Cache::open($this->dsn)->set('other', 'v');
        self::assertSame([1, ''], \array_slice($this->tell('get', ['key' => 'nothing']), 0, 2));
        self::assertSame(['key' => 'nothing', 'found' => false], $this->json('get', ['key' => 'nothing'], Application::NOT_DONE));
        self::assertSame(1, $this->tell('why', ['key' => 'nothing'])[0]);
        self::assertFalse($this->json('why', ['key' => 'nothing'], Application::NOT_DONE)['found']);
    }

    public function testDelete(): void
    {
        Cache::open($this->dsn)->setMultiple(['a' => 1, 'b' => 2, 'c' => 3]);
        [$status, $output] = $this->tell('delete', ['key' => ['a', 'b', 'not there']]);

        self::assertSame([0, "deleted; 2 of 3 were there\n"], [$status, $output]);
        self::assertSame(['c' => 3], Cache::open($this->dsn)->getMultiple(['a', 'b', 'c']));
        self::assertSame(['keys' => ['c'], 'found' => 1, 'done' => true], $this->json('delete', ['key' => ['c']]));
        // Seen to fail: "deleted".
        self::assertSame([0, "nothing was there\n"], \array_slice($this->tell('delete', ['key' => ['c']]), 0, 2));
        self::assertFalse(Cache::open($this->dsn)->has('c'));
    }

    /** Seen to fail: top had U+FFFD in both keys, and why base64 without saying so. */
    public function testKeysThatAreNotUtf8AreToldApartInJson(): void
    {
        Cache::open($this->dsn)->setMultiple(["\xFE" => 1, "\xFF" => 2]);
        foreach (['why', 'get'] as $command) {
            self::assertSame(['encoding' => 'base64', 'value' => '/w=='], $this->json($command, ['key' => "\xFF"])['key']);
        }
        $keys = $this->json('top', ['--once' => true])['keys'];
        self::assertIsArray($keys);
        self::assertEqualsCanonicalizing([['encoding' => 'base64', 'value' => '/g=='], ['encoding' => 'base64', 'value' => '/w==']], \array_column($keys, 'key'));
    }

    /** Seen to fail: names in one spelling for all bytes that are no UTF-8; the group "0" without a name. */
    public function testGroupsAndTagsAreToldApart(): void
    {
        $cache = Cache::open($this->dsn);
        foreach (["\xFE", "\xFF", '0'] as $group) {
            $cache->group($group)->set('k', 1);
        }
        $cache->set('k', 1);
        $document = $this->json('top', ['--once' => true]);
        self::assertEqualsCanonicalizing([['encoding' => 'base64', 'value' => '/g=='], ['encoding' => 'base64', 'value' => '/w=='], '0', ''], \array_column((array) $document['groups'], 'group'));
        self::assertEqualsCanonicalizing(\array_column((array) $document['groups'], 'group'), \array_column((array) $document['keys'], 'group'));
        self::assertSame([['encoding' => 'base64', 'value' => '/w==']], $this->json('tags', ['tag' => ["\xFF"]])['tags']);
        self::assertSame(1, \substr_count($this->tell('top', ['--once' => true])[1], '(none)'));
    }

    // Whatever release of Symfony is there.
    public function testEachSignOfMarkupIsEscaped(): void
    {
        self::assertSame('\\<\\<fg=zzz\\>\\>', Text::shown('<<fg=zzz>>'));
        self::assertSame('<<fg=zzz>>\\', (new OutputFormatter(true))->format(Text::shown('<<fg=zzz>>\\') . '<info></info>'));
    }

    /** Seen to fail: a group's name as it is. A program that reads it gets that. */
    public function testMetricsDoNothingToATerminal(): void
    {
        $cache = Cache::open("$this->dsn?metrics=1");
        $cache->group("a\e[31mé")->get('k');
        $cache->refresh();
        [, $shown] = $this->tell('metrics', ['--dsn' => $this->dsn], true);
        [, $read] = $this->tell('metrics', ['--dsn' => $this->dsn]);

        self::assertStringContainsString('group="a\\x1b[31mé"', $shown);
        self::assertStringNotContainsString("\e", $shown);
        self::assertStringContainsString("group=\"a\e[31mé\"", $read);
        self::assertSame(\substr_count($read, "\n"), \substr_count($shown, "\n"));
    }

    /** Seen to fail: a truth tier that is opened without the option. */
    public function testWhatLooksThroughEverythingMakesNoObjectsThatAreForbidden(): void
    {
        Cache::open($this->dsn)->set('k', new \ArrayObject([1]));

        self::assertNull(Place::choose("$this->dsn?classes=false")->openTruth()->get('k'));
        self::assertInstanceOf(\ArrayObject::class, Place::choose($this->dsn)->openTruth()->get('k'));
        RedisServer::demand();
        $server = new RedisServer(config: ['requirepass' => 'a-password']);
        $source = ['dsn' => "redis://$server->socket", 'near' => 'none', 'credentials' => static fn(): array => ['default', 'a-password']];
        self::assertTrue(Place::choose($source)->openTruth()->set('k', 1));
    }

    public function testGroupsAreApartAndFlushedAlone(): void
    {
        $this->tell('set', ['key' => 'k', 'value' => 'in', '--group' => 'users']);
        $this->tell('set', ['key' => 'k', 'value' => 'out']);
        self::assertSame('in', Cache::open($this->dsn)->group('users')->get('k'));
        self::assertSame('out', $this->tell('get', ['key' => 'k'])[1]);

        [$status, $output, $errors] = $this->tell('flush', ['--group' => 'users']);
        self::assertSame([0, "flushed\n"], [$status, $output]);
        self::assertStringContainsString('group users', $errors);
        self::assertSame(1, $this->tell('get', ['key' => 'k', '--group' => 'users'])[0]);
        self::assertSame(0, $this->tell('get', ['key' => 'k'])[0]);

        self::assertSame(['group' => null, 'done' => true], $this->json('flush'));
        self::assertSame(1, $this->tell('get', ['key' => 'k'])[0]);
    }

    public function testTags(): void
    {
        $this->tell('set', ['key' => 'a', 'value' => '1', '--tag' => ['red', 'round']]);
        $this->tell('set', ['key' => 'b', 'value' => '2', '--tag' => ['blue']]);
        [$status, $output] = $this->tell('tags', ['tag' => ['red', 'green']]);

        self::assertSame([0, "invalidated\n"], [$status, $output]);
        self::assertSame(['b' => '2'], Cache::open($this->dsn)->getMultiple(['a', 'b']));
        self::assertSame(['tags' => ['blue'], 'done' => true], $this->json('tags', ['tag' => ['blue']]));
        self::assertFalse(Cache::open($this->dsn)->has('b'));
    }

    public function testWhy(): void
    {
        $this->tell('set', ['key' => 'a', 'value' => 'abc', '--tag' => ['red'], '--ttl' => '1000']);
        [$status, $output] = $this->tell('why', ['key' => 'a']);
        self::assertSame(0, $status);
        self::assertStringContainsString('sqlite', $output);
        self::assertStringContainsString('red', $output);

        $document = $this->json('why', ['key' => 'a']);
        self::assertTrue($document['found']);
        self::assertIsArray($document['tiers']);
        $truth = \end($document['tiers']);
        self::assertIsArray($truth);
        self::assertTrue($truth['found']);
        self::assertSame(['red'], $truth['tags']);
        self::assertEqualsWithDelta(1000, $truth['ttl'], 60);
        self::assertGreaterThan(0, $truth['position']);

        $this->tell('delete', ['key' => ['a']]);
        self::assertSame(1, $this->tell('why', ['key' => 'a'])[0]);
    }

    /** Seen to fail: a table with "absent" in it, and no word more. */
    public function testWhySaysInWordsWhyAKeyIsMissing(): void
    {
        $this->tell('set', ['key' => 'deleted', 'value' => 'v']);
        $this->tell('delete', ['key' => ['deleted']]);
        $this->tell('set', ['key' => 'flushed', 'value' => 'v', '--tag' => ['red']]);
        $this->tell('tags', ['tag' => ['red']]);
        // Its request lives on.
        $announcer = Cache::open($this->dsn);
        $announcer->intend('intended');
        foreach (['never' => 'has not been stored since', 'deleted' => 'last deleted', 'flushed' => 'was flushed or one of its tags invalidated', 'intended' => 'has announced'] as $key => $says) {
            [$status, $output] = $this->tell('why', ['key' => $key]);
            self::assertSame(1, $status);
            self::assertStringContainsString($says, $output);
            $reason = $this->json('why', ['key' => $key], Application::NOT_DONE)['reason'];
            self::assertIsString($reason);
            self::assertStringContainsString($says, $reason);
        }
    }

    public function testStats(): void
    {
        $this->tell('set', ['key' => 'a', 'value' => 'abc']);
        [$status, $output] = $this->tell('stats');
        self::assertSame(0, $status);
        self::assertStringContainsString('sqlite', $output);
        self::assertStringContainsString('256.0 MiB', $output);

        $document = $this->json('stats');
        self::assertIsArray($document['disk']);
        self::assertSame(1, $document['disk']['entries']);
    }

    public function testTopOnce(): void
    {
        $cache = Cache::open($this->dsn);
        $tick = static function (): void {
            $now = Clock::now();
            Wait::until(static fn(): bool => Clock::now() !== $now, 'the next millisecond');
        };
        $cache->set('small', 'x');
        $tick();
        $cache->set('large', \str_repeat('x', 5000), 100);
        $tick();
        $cache->group('users')->set('young', 'y');

        [$status, $output] = $this->tell('top', ['--once' => true]);
        self::assertSame(0, $status);
        self::assertStringContainsString('3 entries', $output);
        self::assertMatchesRegularExpression('/large .*young/s', $output);

        $document = $this->json('top', ['--once' => true, '--limit' => '2', '--sort' => 'size']);
        self::assertSame(3, $document['entries']);
        self::assertTrue($document['complete']);
        self::assertIsArray($document['keys']);
        self::assertCount(2, $document['keys']);
        self::assertSame('large', \array_column($document['keys'], 'key')[0]);
        self::assertIsArray($document['groups']);
        self::assertEqualsCanonicalizing(['', 'users'], \array_column($document['groups'], 'group'));
        self::assertSame(1, $this->json('top', ['--once' => true, '--group' => 'users'])['entries']);

        $first = static fn(array $document): mixed => \array_column((array) $document['keys'], 'key')[0] ?? null;
        self::assertSame('large', $first($this->json('top', ['--once' => true, '--sort' => 'ttl'])), 'what ends first');
        self::assertSame('large', $first($this->json('top', ['--once' => true, '--sort' => 'key'])));
        self::assertSame('small', $first($this->json('top', ['--once' => true, '--sort' => 'age'])), 'the oldest');
    }

    public function testKeysAreShownWithoutControlCharacters(): void
    {
        Cache::open($this->dsn)->set("evil\e[2Jkey\xff<error>", 'x');
        [$status, $output] = $this->tell('top', ['--once' => true]);

        self::assertSame(0, $status);
        self::assertStringContainsString('evil\x1b[2Jkey\377<error>', $output);
        self::assertStringNotContainsString("\e[2J", $output);
        self::assertSame(1, $this->json('top', ['--once' => true])['entries']);
    }

    /** On a terminal Symfony formats what top has formatted already. */
    public function testKeysThatLookLikeMarkupAreShownOnATerminal(): void
    {
        foreach (['/<fg=zzz>', '<href=https://evil.example/>here</>', '\\<error>'] as $key) {
            Cache::open($this->dsn)->set($key, 'x');
        }
        [$status, $output, $errors] = $this->tell('top', ['--once' => true], true);

        self::assertSame(0, $status, $errors);
        self::assertStringContainsString(' /<fg=zzz> ', $output);
        self::assertStringContainsString(' <href=https://evil.example/>here</> ', $output);
        self::assertStringContainsString(' \\<error> ', $output);
        self::assertStringNotContainsString("\e]8;", $output);
    }

    /** @return iterable<string, array{string, array<string, mixed>}> */
    public static function hostile(): iterable
    {
        yield 'the line that names the cache' => ['get', ['key' => 'k', '--group' => "evil\e[2J\u{202e}<error>"]];
        yield 'a command that is none' => ["evil\e[2J<error>", []];
        yield 'an order' => ['top', ['--sort' => "evil\e[2J<error>"]];
        yield 'a complaint' => ['get', ['key' => 'k', '--dsn' => "redis:///nowhere/evil%1b[2J.sock"]];
        yield 'the line that names the queue' => ['queue:status', ['name' => "evil\e[2J<error>", '--dsn' => 'memory://']];
        yield 'a check' => ['doctor', ['--dsn' => "redis:///nowhere/evil%1b[2J.sock"]];
    }

    /** @param array<string, mixed> $arguments */
    #[DataProvider('hostile')]
    public function testNothingThatIsToldControlsTheTerminal(string $command, array $arguments): void
    {
        Cache::open($this->dsn)->set('other', 'v');
        [, $output, $errors] = $this->tell($command, $arguments);

        self::assertStringNotContainsString("\e", $output . $errors);
        self::assertStringNotContainsString("\u{202e}", $output . $errors);
        self::assertStringContainsString('evil', $output . $errors);
    }

    /** @param array<string, mixed> $arguments */
    #[TestWith(['get', ['key' => 'k']])]
    #[TestWith(['why', ['key' => 'k']])]
    #[TestWith(['stats'])]
    #[TestWith(['top', ['--once' => true]])]
    #[TestWith(['metrics'])]
    #[TestWith(['page:list'])]
    public function testAMistypedDirectoryIsNotMade(string $command, array $arguments = []): void
    {
        [$status, $output, $errors] = $this->tell($command, $arguments);

        self::assertSame([1, ''], [$status, $output]);
        self::assertStringContainsString("There is no cache in {$this->root->path}/cache", $errors);
        self::assertDirectoryDoesNotExist($this->root->path . '/cache');
    }

    /** Whoever may write in the directory may write that file. */
    public function testTheDoctorShowsAHostileFileAsText(): void
    {
        Cache::open($this->dsn)->set('k', 'v');
        \file_put_contents($this->root->path . '/cache/' . IncidentLog::FILE, "2026-01-01T00:00:00Z evil\e[2J\e]8;;http://x\e\\here\n");
        \chmod($this->root->path . '/cache/' . IncidentLog::FILE, 0o600);
        [, $output] = $this->tell('doctor');

        self::assertStringContainsString('evil\x1b[2J\x1b]8;;http://x\x1b\here', $output);
        self::assertStringNotContainsString("\e", $output);
    }

    /** @return iterable<string, array{string, array<string, mixed>, string}> */
    public static function misuse(): iterable
    {
        yield 'unknown scheme' => ['get', ['key' => 'k', '--dsn' => 'rediz://h'], 'Did you mean "redis://"'];
        yield 'cluster' => ['get', ['key' => 'k', '--dsn' => 'redis://a,b'], 'Redis Cluster'];
        yield 'unknown option in the DSN' => ['stats', ['--dsn' => 'memory://?bugdet=1M'], 'Did you mean "budget"'];
        yield 'a password is not told' => ['stats', ['--dsn' => 'redis://u:hunter2@h:x'], 'redis://…'];
        yield 'what is typed in the wrong place is not told' => ['stats', ['--dsn' => 'memory://', '--sort' => 'redis://u:hunter2@h?secret=hunter2'], 'sort'];
        yield 'nor what is no number' => ['top', ['--dsn' => 'memory://', '--interval' => 'redis://u:hunter2@h?secret=hunter2'], 'redis://***@h?secret=***'];
        yield 'no key' => ['get', [], 'key'];
        yield 'empty key' => ['get', ['key' => ''], 'empty'];
        yield 'unknown option' => ['get', ['key' => 'k', '--jsno' => true], 'jsno'];
        yield 'unknown command' => ['flsh', [], 'Did you mean'];
        yield 'ttl' => ['set', ['key' => 'k', 'value' => 'v', '--ttl' => '1h'], '--ttl=3600'];
        yield 'a ttl in the past' => ['set', ['key' => 'k', 'value' => 'v', '--ttl' => '-5'], '--ttl=3600'];
        yield 'type' => ['set', ['key' => 'k', 'value' => 'v', '--type' => 'integer'], 'Choose one of: string'];
        yield 'not an int' => ['set', ['key' => 'k', 'value' => '1.5', '--type' => 'int'], 'not of the type int'];
        yield 'not json' => ['set', ['key' => 'k', 'value' => '{', '--type' => 'json'], 'Syntax error'];
        yield 'order' => ['top', ['--once' => true, '--sort' => 'colour'], 'Choose one of: size'];
        yield 'interval' => ['top', ['--once' => true, '--interval' => 'often'], 'interval'];
        yield 'doctor' => ['doctor', ['--dsn' => 'sqlite://relative'], 'sqlite:///relative'];
    }

    /** @param array<string, mixed> $arguments */
    #[DataProvider('misuse')]
    public function testMisuseHasStatusTwoAndSaysWhatToWrite(string $command, array $arguments, string $says): void
    {
        Cache::open($this->dsn)->set('other', 'v');
        [$status, $output, $errors] = $this->tell($command, $arguments);

        self::assertSame(2, $status, $output . $errors);
        self::assertStringContainsString($says, $errors);
        self::assertStringNotContainsString('hunter2', $output . $errors);
        self::assertSame('', $output);
    }

    /** @return iterable<string, array{string, array<string, mixed>}> */
    public static function every(): iterable
    {
        yield 'get' => ['get', ['key' => 'k']];
        yield 'set' => ['set', ['key' => 'k', 'value' => 'v']];
        yield 'delete' => ['delete', ['key' => ['k']]];
        yield 'flush' => ['flush', []];
        yield 'tags' => ['tags', ['tag' => ['t']]];
        yield 'why' => ['why', ['key' => 'k']];
    }

    /** @param array<string, mixed> $arguments */
    #[DataProvider('every')]
    public function testAServerThatIsNotThereHasStatusFour(string $command, array $arguments): void
    {
        $dsn = 'redis://' . $this->root->path . '/nobody.sock';
        [$status, , $errors] = $this->tell($command, $arguments + ['--dsn' => $dsn]);

        self::assertSame(4, $status, $errors);
        self::assertStringContainsString('nobody.sock', $errors);
    }

    #[DataProvider('every')]
    public function testHelpHasExamples(string $command): void
    {
        [$status, $output] = $this->tell($command, ['--help' => true]);

        self::assertSame(0, $status);
        self::assertStringContainsString('--json', $output);
        self::assertStringContainsString('--dsn', $output);
        self::assertStringContainsString('--group', $output);
        self::assertMatchesRegularExpression('/Help:.* ' . $command . '/s', $output);
    }
}
