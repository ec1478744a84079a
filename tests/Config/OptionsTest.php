<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Config\Dsn;
use Larder\Config\Extension;
use Larder\Config\InvalidConfiguration;
use Larder\Config\Options;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

#[CoversClass(Options::class)]
#[CoversClass(Extension::class)]
#[CoversClass(InvalidConfiguration::class)]
final class OptionsTest extends TestCase
{
    private string|false $environment;

    protected function setUp(): void
    {
        $this->environment = \getenv('LARDER_DSN');
        \putenv('LARDER_DSN');
    }

    protected function tearDown(): void
    {
        \putenv($this->environment === false ? 'LARDER_DSN' : 'LARDER_DSN=' . $this->environment);
        unset($_ENV['LARDER_DSN']);
    }

    public function testNothingIsTheEmbeddedDefault(): void
    {
        $options = Options::from(null);

        self::assertEquals(new Dsn(\extension_loaded('pdo_sqlite') ? 'sqlite' : 'file'), $options->truth);
        self::assertSame($options->truth, $options->disk);
        self::assertEquals(self::usualNear(), $options->near);
        self::assertNull($options->far);
        self::assertSame('larder', $options->prefix);
        self::assertSame(256 * 1024 * 1024, $options->budget);
        self::assertSame(64 * 1024 * 1024, $options->nearBudget);
        self::assertSame(0.25, $options->timeout);
        self::assertSame(30.0, $options->lease);
        self::assertNull($options->serializer);
        self::assertNull($options->compressor);
        self::assertNull($options->secret);
        self::assertNull($options->logger);
        self::assertFalse($options->cacheOnly);
    }

    public function testTheEnvironmentReplacesTheDefaultOnly(): void
    {
        \putenv('LARDER_DSN=file:///from/environment?prefix=env');

        self::assertSame('file:///from/environment', Options::from(null)->truth->toString());
        self::assertSame('env', Options::from([])->prefix);
        self::assertSame('file:///given', Options::from('file:///given')->truth->toString());
        self::assertSame('larder', Options::from('file:///given')->prefix);
        self::assertSame('memory://', Options::from(['dsn' => 'memory://'])->truth->toString());
        self::assertSame('mine', Options::from(['prefix' => 'mine'])->prefix, 'an array goes over the environment');

        \putenv('LARDER_DSN=');
        self::assertSame('', Options::from(null)->truth->path, 'an empty variable is none');
        $_ENV['LARDER_DSN'] = 'file:///dotenv';
        self::assertSame('/dotenv', Options::from(null)->truth->path);
    }

    /** @return iterable<string, array{string, string}> */
    public static function alone(): iterable
    {
        yield 'sqlite' => ['sqlite:///d', 'disk'];
        yield 'file' => ['file:///d', 'disk'];
        yield 'memory' => ['memory://', ''];
        yield 'redis' => ['redis://h', 'far'];
        yield 'predis' => ['predis://h', 'far'];
        yield 'memcached' => ['memcached://h', 'far'];
    }

    #[DataProvider('alone')]
    public function testADsnAloneIsTheTruthAndNothingElse(string $dsn, string $slot): void
    {
        $options = Options::from($dsn);

        foreach (['near', 'disk', 'far'] as $tier) {
            if ($tier === $slot) {
                self::assertSame($options->truth, $options->{$tier});
            } elseif ($tier === 'near' && $slot !== '') {
                self::assertEquals(self::usualNear(), $options->near);
            } else {
                self::assertNull($options->{$tier});
            }
        }
    }

    /** Where no near tier is named. */
    private static function usualNear(): ?Dsn
    {
        return \extension_loaded('larder') ? new Dsn('segment') : null;
    }

    public function testTheLastTierIsTheTruth(): void
    {
        $two = Options::from('redis:///run/r.sock?db=2&near=sqlite:///d');
        self::assertSame($two->far, $two->truth);
        self::assertSame(2, $two->truth->db);
        self::assertSame([], $two->truth->query, 'options are taken out of it');
        self::assertSame('sqlite', $two->near?->scheme);
        self::assertSame('/d', $two->disk?->path, 'locks and notes lie where the copies do');
    }

    public function testNearAloneInAnArrayStandsBeforeTheDefault(): void
    {
        $options = Options::from(['near' => 'segment']);
        self::assertSame($options->disk, $options->truth);
        self::assertSame('sqlite', Options::from('segment://')->truth->scheme);

        \putenv('LARDER_DSN=redis://h');
        self::assertSame('redis', Options::from(['near' => 'segment'])->truth->scheme);
        self::assertSame('sqlite', Options::from(['near' => 'sqlite'])->near?->scheme);
    }

    public function testAnArrayWithATierIgnoresTheEnvironment(): void
    {
        \putenv('LARDER_DSN=file:///from/environment?prefix=env');
        $options = Options::from(['far' => 'redis://h']);

        self::assertNull($options->disk);
        self::assertSame('larder', $options->prefix);
    }

    public function testEveryOptionInADsn(): void
    {
        $options = Options::from('file:///d?prefix=shop.1&serializer=php&compressor=none&budget=1G&near_budget=512k&timeout=0.5&lease=5&secret=a%26b&cacheOnly=1&near=none&fingerprint=1&classes=App\\User,stdClass');

        self::assertSame('shop.1', $options->prefix);
        self::assertSame('php', $options->serializer);
        self::assertSame('none', $options->compressor);
        self::assertSame(1 << 30, $options->budget);
        self::assertSame(512 * 1024, $options->nearBudget);
        self::assertSame(0.5, $options->timeout);
        self::assertSame(5.0, $options->lease);
        self::assertSame('a&b', $options->secret);
        self::assertTrue($options->cacheOnly);
        self::assertSame([['App\User', 'stdClass'], true], [$options->classes, $options->fingerprint]);
        self::assertSame([false, true, true], \array_map(static fn(string $classes): bool|array => Options::from("memory://?classes=$classes")->classes, ['0', '1', 'true']));
        self::assertSame([self::class], Options::from(['classes' => ['\\' . self::class]])->classes);
    }

    public function testEveryOptionInAnArray(): void
    {
        $logger = new NullLogger();
        $options = Options::from([
            'dsn' => 'file:///d', 'prefix' => 'shop', 'serializer' => 'igbinary', 'compressor' => 'gzip', 'budget' => 2 << 20,
            'near_budget' => '2 MiB', 'timeout' => 1, 'lease' => 2.5, 'secret' => 's', 'logger' => $logger, 'cacheOnly' => true, 'near' => null,
        ]);

        self::assertSame('igbinary', $options->serializer);
        self::assertSame('gzip', $options->compressor);
        self::assertSame(2 << 20, $options->budget);
        self::assertSame(2 << 20, $options->nearBudget);
        self::assertSame(1.0, $options->timeout);
        self::assertSame(2.5, $options->lease);
        self::assertSame($logger, $options->logger);
        self::assertTrue($options->cacheOnly);
        self::assertEquals(self::usualNear(), $options->near);
    }

    /** @return iterable<string, array{mixed, int}> */
    public static function sizes(): iterable
    {
        yield 'bytes' => ['65536', 65536];
        yield 'int' => [65536, 65536];
        yield 'K' => ['64K', 65536];
        yield 'MB' => ['1MB', 1 << 20];
        yield 'MiB' => ['1MiB', 1 << 20];
        yield 'g' => ['2g', 2 << 30];
        yield 'T' => ['1T', 1 << 40];
        yield 'B' => ['100B', 100];
    }

    #[DataProvider('sizes')]
    public function testSizes(mixed $given, int $bytes): void
    {
        self::assertSame($bytes, Options::from(['dsn' => 'memory://', 'near_budget' => $given])->nearBudget);
    }

    /** @return iterable<string, array{null|string|array<array-key, mixed>, string}> */
    public static function wrong(): iterable
    {
        foreach ([-1, 0, '-1', '0', '0M', '', 'much', '1.5.2M', '1X', 1.5, true, [], '99999999999999T', 'M', "1M\n"] as $budget) {
            yield 'budget ' . \json_encode($budget) => [['dsn' => 'memory://', 'budget' => $budget], '"budget"'];
        }
        foreach ([1, '1K', '1023K', (1 << 20) - 1] as $budget) {
            yield 'budget ' . \json_encode($budget) => [['dsn' => 'memory://', 'budget' => $budget], 'a whole number of bytes from 1048576 on'];
        }
        foreach ([-1, 0, '0', 'soon', '', \NAN, \INF, true, [], '1s'] as $i => $timeout) {
            yield 'timeout ' . $i => [['dsn' => 'memory://', 'timeout' => $timeout], '"timeout"'];
            yield 'lease ' . $i => [['dsn' => 'memory://', 'lease' => $timeout], '"lease"'];
        }
        foreach (['', ' ', 'a b', 'a/b', '.', '..', '../x', "a\n", 'ä', \str_repeat('x', 65)] as $i => $prefix) {
            yield 'prefix ' . $i => [['dsn' => 'memory://', 'prefix' => $prefix], 'prefix'];
        }
        yield 'negative budget in a DSN' => ['file:///d?budget=-256M', 'Write for example budget=256M'];
        yield 'negative near budget' => ['file:///d?near_budget=-1', '"near_budget"'];
        yield 'unknown option' => ['file:///d?prefx=a', 'Did you mean "prefix"?'];
        yield 'unknown option in an array' => [['dsn' => 'memory://', 'cache_only' => true], 'Did you mean "cacheOnly"?'];
        yield 'unknown option that is null' => [['nera' => null], 'Did you mean "near"?'];
        yield 'list' => [['redis://h'], 'Unknown option "0"'];
        yield 'confirm too often' => ['redis://h?confirm=0.5', '0 (off) or a number of seconds from 1 on'];
        yield 'confirm in words' => ['redis://h?confirm=yes', '0 (off) or a number of seconds from 1 on'];
        yield 'classes that are not set' => [['dsn' => 'memory://', 'classes' => null], '"classes" names is of type null'];
        yield 'credentials in a word' => [['dsn' => 'redis://h', 'credentials' => 'me:secret'], 'credentials'];
        yield 'cluster option' => ['redis://h?cluster=1', 'Redis Cluster'];
        yield 'sentinel option' => ['redis://h?redis_sentinel=main', 'Sentinel'];
        yield 'db of another' => ['memcached://h?db=1', 'redis://'];
        yield 'password' => ['redis://h?password=x', 'redis://user:password@host'];
        yield 'ttl' => ['file:///d?ttl=5', 'argument of set()'];
        yield 'logger in a DSN' => ['file:///d?logger=monolog', 'array'];
        yield 'dsn in a DSN' => ['file:///d?dsn=memory://', 'array'];
        yield 'logger' => [['logger' => 'monolog'], 'LoggerInterface'];
        yield 'dsn type' => [['dsn' => 5], 'a string'];
        yield 'prefix type' => [['dsn' => 'memory://', 'prefix' => 5], 'a string'];
        yield 'tier type' => [['far' => 5], 'a string'];
        yield 'no class' => ['file:///d?classes=App/User', 'no name of a class'];
        yield 'classes of igbinary' => ['file:///d?classes=User&serializer=igbinary', 'serializer=php'];
        yield 'no classes of msgpack' => ['file:///d?classes=0&serializer=msgpack', 'serializer=php'];
        yield 'another name for classes' => ['file:///d?allowed_classes=0', 'Did you mean "classes"?'];
        yield 'fingerprint' => ['file:///d?fingerprint=md5', 'must be true or false'];
        yield 'serializer' => ['file:///d?serializer=ibginary', 'Did you mean "igbinary"?'];
        yield 'compressor' => ['file:///d?compressor=brotli', 'Choose one of: none, zstd, lz4, gzip'];
        yield 'flag' => ['file:///d?cacheOnly=maybe', 'cacheOnly=1'];
        yield 'empty secret' => ['file:///d?secret=', 'empty'];
        yield 'segment with an option' => [['near' => 'segment://?budget=4M'], 'is in the DSN of the near tier'];
        yield 'segment without a size' => [['near' => 'segment:///dev/shm/l/s?bytes=many'], 'must be a whole number of bytes'];
        yield 'segment twice' => [['dsn' => 'segment://', 'near' => 'apcu'], 'Keep one of the two'];
        yield 'segment far' => [['far' => 'segment://'], 'cannot be the far tier'];
        yield 'far is a disk' => [['far' => 'file:///d'], 'cannot be the far tier'];
        yield 'near is far' => [['near' => 'redis://h'], 'Write near=segment, near=apcu'];
        yield 'near is memory' => ['file:///d?near=memory', 'Write near=segment, near=apcu'];
        yield 'near is files' => ['redis://h?near=file:///d', 'near=sqlite:///directory'];
        yield 'near is SQLite, and so is the truth' => ['sqlite:///d?near=sqlite:///e', 'before a server'];
        yield 'disk before far' => [['disk' => 'sqlite:///d', 'far' => 'redis://h'], 'Write near=sqlite:///d in place of disk'];
        yield 'same tier twice' => ['file:///d?disk=file:///e', 'Keep one of the two'];
        yield 'dsn and tier' => [['dsn' => 'file:///d', 'disk' => 'file:///e'], 'Keep one of the two'];
        yield 'option inside a tier' => [['far' => 'redis://h?prefix=a'], 'beside the tiers'];
        yield 'unknown option inside a tier' => [['far' => 'redis://h?prefx=a'], 'Did you mean "prefix"?'];
        yield 'far by a word' => [['far' => 'redis'], 'redis://127.0.0.1:6379/0'];
    }

    /** @param null|string|array<array-key, mixed> $source */
    #[DataProvider('wrong')]
    public function testSaysWhatIsWrong(string|array|null $source, string $says): void
    {
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage($says);

        Options::from($source);
    }

    public function testAMissingExtensionIsNamedWithItsPackage(): void
    {
        if (\extension_loaded('zstd')) {
            self::markTestSkipped('zstd is loaded');
        }
        try {
            Options::from('file:///d?compressor=zstd');
            self::fail('accepted');
        } catch (InvalidConfiguration $e) {
            self::assertStringContainsString('zstd', $e->getMessage());
            self::assertStringContainsString('pecl install zstd', $e->getMessage());
        }
    }

    /** PHP without any shared extension: what is missing there is said, one by one. */
    public function testMissingExtensionsInABarePhp(): void
    {
        $code = 'foreach (["sqlite:///d", "redis://h", "memcached://h", "apcu://", "file:///d?near=apcu", "file:///d?serializer=igbinary"] as $dsn) {'
            . 'try { Larder\Config\Options::from($dsn); echo "accepted\n"; }'
            . 'catch (Larder\Config\InvalidConfiguration $e) { echo $e->getMessage(), "\n"; } }'
            . 'echo Larder\Config\Options::from(null)->truth->scheme, "\n";';
        $lines = \explode("\n", \trim(Child::php($code, options: ['-n'])->output));

        if (\count($lines) !== 7 || \str_contains($lines[0], 'accepted')) {
            self::markTestSkipped('extensions are compiled into this PHP: ' . \implode(' | ', $lines));
        }
        self::assertStringContainsString('apt install php-sqlite3', $lines[0]);
        self::assertSame('accepted', $lines[1], 'Predis speaks for the missing extension');
        self::assertSame('accepted', $lines[2], 'Memcached is spoken to without an extension');
        self::assertStringContainsString('apt install php-apcu', $lines[3]);
        self::assertStringContainsString('apt install php-apcu', $lines[4]);
        self::assertStringContainsString('apt install php-igbinary', $lines[5]);
        self::assertSame('file', $lines[6], 'without pdo_sqlite the default is file');
    }

    #[RequiresPhpExtension('apcu')]
    public function testApcuSwitchedOffIsNoNearTier(): void
    {
        $code = 'foreach (["file:///d?near=apcu", "apcu://"] as $dsn) { $o = Larder\Config\Options::from($dsn); echo $o->near?->scheme, " before ", $o->truth->scheme, "\n"; }';

        self::assertSame(" before file\n before sqlite\n", Child::php($code, options: ['-d', 'apc.enable_cli=0'])->output);
        self::assertSame("apcu before file\napcu before sqlite\n", Child::php($code, options: ['-d', 'apc.enable_cli=1'])->output);
    }
}
