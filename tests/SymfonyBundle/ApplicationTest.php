<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\SymfonyBundle\Lock\LarderStore;
use Larder\SymfonyBundle\Messenger\LarderTransportFactory;
use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use Symfony\Component\Cache\Adapter\FilesystemAdapter;
use Symfony\Component\Cache\Adapter\TagAwareAdapter;
use Symfony\Component\Lock\Store\FlockStore;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Stamp\SentToFailureTransportStamp;
use Symfony\Component\Messenger\Stamp\TransportMessageIdStamp;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;

/** A real application: what its configuration says becomes of pools, tags, locks, sessions and commands. */
#[CoversNothing]
#[Group('bridge')]
final class ApplicationTest extends ApplicationTestCase
{
    public function testPoolsOfOneDsnShareACache(): void
    {
        $elsewhere = 'sqlite://' . $this->root->file('elsewhere');
        $config = self::pools([
            'products' => ['adapter' => 'cache.adapter.larder', 'tags' => true],
            'plain' => ['adapter' => 'cache.adapter.larder'],
            'child' => ['adapter' => 'cache.app', 'default_lifetime' => 60],
            'far' => ['adapter' => 'cache.adapter.larder', 'provider' => $elsewhere],
            'far_too' => ['adapter' => 'cache.adapter.larder', 'provider' => $elsewhere, 'tags' => 'far'],
            'near' => ['adapter' => 'cache.adapter.larder', 'provider' => 'sqlite://%kernel.project_dir%/var/larder'],
            'of_parameter' => ['adapter' => 'cache.adapter.larder', 'provider' => 'sqlite://%kernel.project_dir%/elsewhere'],
            'of_env' => ['adapter' => 'cache.adapter.larder', 'provider' => '%env(ELSEWHERE)%'],
        ]);
        $classes = $this->play('classes', $config, ['cache.app', 'products', 'plain', 'child', 'far', 'far_too', 'near', 'of_parameter', 'of_env', 'cache.app.taggable'], environment: ['ELSEWHERE' => $elsewhere]);
        self::assertSame([LarderAdapter::class], \array_values(\array_unique(\array_column($classes, 'class'))));
        self::assertSame([0, 0, 0, 0, 4, 4, 0, 4, 8, 0], \array_column($classes, 'cache'));
        // Where the bundle says, outside of what cache:clear replaces.
        self::assertTrue($this->play('save', $config, ['products', 'key', 'value'], environment: ['ELSEWHERE' => $elsewhere]));
        self::assertDirectoryExists($this->root->file('var/larder'));
        $this->play('command', $config, ['cache:clear'], environment: ['ELSEWHERE' => $elsewhere]);
        self::assertSame(['value', null], $this->play('read', $config, ['products', 'key', 'other'], environment: ['ELSEWHERE' => $elsewhere]));
        self::assertSame([null], $this->play('read', $config, ['plain', 'key'], environment: ['ELSEWHERE' => $elsewhere]));
    }

    public function testOtherAdaptersStayAsTheyAre(): void
    {
        $config = ['framework' => ['cache' => ['pools' => [
            'files' => ['adapter' => 'cache.adapter.filesystem', 'tags' => true],
            'chain' => ['adapters' => ['cache.adapter.array', ['name' => 'cache.adapter.larder', 'provider' => 'sqlite://' . $this->root->file('chained')]], 'tags' => true],
        ]]]];
        $classes = $this->play('classes', $config, ['cache.app', 'files', 'chain']);
        self::assertSame([FilesystemAdapter::class, TagAwareAdapter::class, TagAwareAdapter::class], \array_column($classes, 'class'));
        // A chain keeps the tags of all its adapters, so it stays in Symfony's wrapper.
        self::assertTrue($this->play('save', $config, ['chain', 'key', 'value', 'tag']));
        self::assertTrue($this->play('save', $config, ['chain', 'other', 'value', 'else']));
        self::assertSame(['value', 'value'], $this->play('read', $config, ['chain', 'key', 'other']));
        $this->play('command', $config, ['cache:pool:invalidate-tags tag']);
        self::assertSame([null, 'value'], $this->play('read', $config, ['chain', 'key', 'other']));
        self::assertDirectoryExists($this->root->file('chained'));
    }

    public function testPoolsAreAutowired(): void
    {
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder', 'tags' => true]]);
        self::assertSame([true, false, true], $this->play('autowiring', $config, services: [Consumer::class => Consumer::class]));
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder']]);
        self::assertSame([true, false, true], $this->play('autowiring', $config, services: [Consumer::class => Consumer::class]));
    }

    public function testCommandsOfPools(): void
    {
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder', 'tags' => true], 'plain' => ['adapter' => 'cache.adapter.larder']]);
        foreach (['cache.app', 'products', 'plain'] as $pool) {
            foreach (['a', 'b', 'c'] as $key) {
                $this->play('save', $config, [$pool, $key, $key, "tag_$key"]);
            }
        }
        [$status, $text] = $this->play('command', $config, ['cache:pool:list', 'cache:pool:prune']);
        self::assertSame(0, $status, $text);
        self::assertMatchesRegularExpression('/ products .*Pruning cache pool: products\b/s', $text);
        [$status, $text] = $this->play('command', $config, ['cache:pool:delete products a', 'cache:pool:invalidate-tags tag_b --pool=products', 'cache:pool:clear plain']);
        self::assertSame(0, $status, $text);
        self::assertSame([null, null, 'c'], $this->play('read', $config, ['products', 'a', 'b', 'c']));
        self::assertSame([null, null, null], $this->play('read', $config, ['plain', 'a', 'b', 'c']));
        self::assertSame(['a', 'b', 'c'], $this->play('read', $config, ['cache.app', 'a', 'b', 'c']));
        $this->play('command', $config, ['cache:pool:invalidate-tags tag_c']);
        self::assertSame([null], $this->play('read', $config, ['products', 'c']));
        self::assertSame(['a', 'b', null], $this->play('read', $config, ['cache.app', 'a', 'b', 'c']));
        $this->play('command', $config, ['cache:pool:clear cache.global_clearer']);
        self::assertSame([null, null], $this->play('read', $config, ['cache.app', 'a', 'b']));
    }

    public function testLardersOwnCommands(): void
    {
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder', 'tags' => true]], ['options' => ['secret' => 'a secret of the application']]);
        $this->play('save', $config, ['products', 'key', 'value', 'shop']);
        [$status, $text] = $this->play('command', $config, ['larder:why key --pool=products']);
        self::assertSame(0, $status, $text);
        self::assertMatchesRegularExpression('/disk \(sqlite\), the truth +\| value .* shop /', $text);
        [$status, $text] = $this->play('command', $config, ['larder:why key']);
        self::assertSame([1, true], [$status, \str_contains($text, 'It is not there')]);
        [$status, $text] = $this->play('command', $config, ['larder:why key --pool=nothing']);
        self::assertSame(2, $status);
        self::assertStringContainsString('There are: cache.app,', $text);
        [$status, $text] = $this->play('command', $config, ['larder:top --once']);
        self::assertSame(0, $status, $text);
        self::assertMatchesRegularExpression('/\| key +\|/', $text);
        [$status, $text] = $this->play('command', $config, ['larder:doctor --json']);
        self::assertSame(0, $status, $text);
        self::assertStringContainsString($this->root->file('var/larder'), $text);
        self::assertStringNotContainsString('a secret of', $this->play('command', $config, ['larder:top --help'])[1]);
    }

    public function testAResetOfTheServicesBeginsARequest(): void
    {
        self::assertSame(['old', 'old', 'new', 'kept'], $this->play('reset', self::pools(), ['sqlite://' . $this->root->file('var/larder')]));
    }

    public function testEachMessageBeginsARequest(): void
    {
        self::assertSame(['old', 'old', 'new'], $this->play('message', self::pools(), ['sqlite://' . $this->root->file('var/larder')]));
    }

    public function testTheOptionsReachTheCache(): void
    {
        RedisServer::demand();
        $server = new RedisServer(config: ['requirepass' => 'word']);
        $config = self::pools([], ['dsn' => "redis://$server->socket", 'credentials' => Token::class, 'options' => ['prefix' => 'app', 'near' => 'none']]);
        self::assertTrue($this->play('save', $config, ['cache.app', 'key', 'value'], [Token::class => Token::class]));
        $keys = $server->command('KEYS', 'app:*');
        self::assertIsArray($keys);
        self::assertNotSame([], $keys);
        $server->stop();
    }

    public function testLocks(): void
    {
        $lock = ['default' => 'larder://', 'env' => '%env(LOCKS)%', 'other' => 'flock', 'there' => 'larder+sqlite://' . $this->root->file('there')];
        $config = ['framework' => ['lock' => $lock]];
        $environment = ['LOCKS' => 'larder+sqlite://' . $this->root->file('elsewhere')];
        self::assertSame([true, false, true, true, true], $this->play('locks', $config, environment: $environment));
        self::assertFileExists($this->root->file('var/larder-locks/locks.db'));
        $ids = \array_map(static fn(string $name): string => "lock.$name.factory", \array_keys($lock));
        self::assertSame([LarderStore::class, LarderStore::class, FlockStore::class, LarderStore::class], $this->play('stores', $config, $ids, environment: $environment));
        self::assertDirectoryExists($this->root->file('elsewhere'));
        self::assertSame(FlockStore::class, $this->play('stores', $config, $ids, environment: ['LOCKS' => 'flock'])[1]);
    }

    public function testCommandsOfFailedMessages(): void
    {
        $dsn = 'larder+sqlite://' . $this->root->file('queue');
        $config = ['framework' => ['messenger' => ['failure_transport' => 'failed', 'transports' => ['failed' => "$dsn?queue=failed"]]]];
        Frameworks::prefer();
        $transport = (new LarderTransportFactory())->createTransport("$dsn?queue=failed", [], new PhpSerializer());
        $ids = [];
        foreach (['one', 'two'] as $text) {
            $sent = $transport->send(new Envelope(new Note($text), [new SentToFailureTransportStamp('async')]));
            $ids[] = $sent->last(TransportMessageIdStamp::class)?->getId();
        }
        [$status, $text] = $this->play('command', $config, ['messenger:failed:show', "messenger:failed:show $ids[0]"]);
        self::assertSame(0, $status, $text);
        self::assertMatchesRegularExpression("/$ids[0] .*Note.*$ids[1] .*Note/s", $text);
        [$status, $text] = $this->play('command', $config, ["messenger:failed:remove $ids[0] --force"]);
        self::assertSame(0, $status, $text);
        [$status, $text] = $this->play('command', $config, ['messenger:failed:show']);
        self::assertSame([0, false, true], [$status, \str_contains($text, $ids[0]), \str_contains($text, $ids[1])]);
    }

    public function testSessions(): void
    {
        $config = ['framework' => ['session' => ['handler_id' => 'larder.session_handler', 'storage_factory_id' => 'session.storage.factory.native', 'cookie_secure' => 'auto']]];
        $services = ['page' => CountingPage::class];
        [$status, $body, $cookie] = $this->play('session', $config, [''], $services);
        self::assertSame([200, 'visit 1'], [$status, $body]);
        self::assertSame([200, 'visit 2', $cookie], $this->play('session', $config, [$cookie], $services));
        self::assertSame('visit 3', $this->play('session', $config, [$cookie], $services)[1]);
        self::assertSame('visit 1', $this->play('session', $config, [''], $services)[1]);
        self::assertFileExists($this->root->file('var/larder-sessions/sessions.db'));
    }
}
