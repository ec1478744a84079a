<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** A whole application in which Larder is installed, and nothing said of it but CACHE_STORE=larder. */
#[CoversNothing]
#[Group('bridge')]
final class ApplicationTest extends TestCase
{
    public function testCacheStoreIsAllThatIsNeeded(): void
    {
        $site = new Site();
        self::assertSame([0, '["Larder\\\\Bridge\\\\Laravel\\\\LarderRepository","v"]'], Site::end($site->run('echo json_encode([cache()->store()::class, cache()->remember("k", 60, fn () => "v")]);')));
        self::assertSame([0, '"v"'], Site::end($site->run('echo json_encode(cache()->get("k"));')), 'another process');
        $directory = $site->directory->file('storage/framework/cache/larder');
        self::assertSame(0o700, \fileperms($directory) & 0o777);
        self::assertSame(0, $site->artisan('cache:clear')[0]);
        self::assertSame([0, 'null'], Site::end($site->run('echo json_encode(cache()->get("k"));')));
        self::assertSame(0, $site->artisan('config:cache')[0]);
        self::assertSame([0, '"w"'], Site::end($site->run('echo json_encode(cache()->rememberForever("k", fn () => "w"));')));
        self::assertSame(['.', '..', 'larder'], \scandir(\dirname($directory)));
    }

    public function testOneVariableNamesAServer(): void
    {
        RedisServer::demand();
        $server = new RedisServer();
        $site = new Site(['CACHE_STORE' => 'larder', 'SESSION_DRIVER' => 'larder', 'LARDER_DSN' => "redis://$server->socket"]);
        self::assertSame([0, '[true,true,"s"]'], Site::end($site->run('$s = session(); $s->start(); $s->put("k", "s"); $s->save(); $t = session()->driver(); $t->setId($s->getId()); $t->start(); echo json_encode([cache()->put("k", "v"), cache()->lock("l", 9)->get(), $t->get("k")]);')));
        $keys = $server->command('KEYS', '*');
        \assert(\is_array($keys));
        self::assertNotSame([], \preg_grep('/^larder:lock:/', $keys));
        self::assertNotSame([], \preg_grep('/session/', $keys));
        self::assertSame(['.', '..'], \scandir($site->directory->file('storage/framework/cache')));
    }

    public function testMemcachedKeepsNoLocksAndNoSessions(): void
    {
        $site = new Site(['CACHE_STORE' => 'larder', 'LARDER_DSN' => 'memcached://127.0.0.1:1']);
        [$status, $text] = Site::end($site->run('try { cache()->lock("k")->get(); } catch (Throwable $e) { echo $e->getMessage(); }'));
        self::assertSame(0, $status, $text);
        self::assertStringContainsString("LARDER_DSN names Memcached, which may forget, and locks must not be forgotten. Name another place in config/larder.php, as 'locks' => 'redis://", $text);
        $site->directory->write('config/larder.php', '<?php return ["locks" => "sqlite://" . storage_path("locks")];');
        self::assertStringStartsWith('[true,false]', Site::end($site->run('echo json_encode([cache()->lock("k")->get(), cache()->lock("k")->get()]);'))[1]);
    }

    public function testTheCommandsWorkOnTheApplicationsCache(): void
    {
        $site = new Site();
        self::assertSame(0, Site::end($site->run('cache()->tags("people")->put("Ada", 1, 600); cache()->put("k", 1, 600);'))[0]);
        [$status, $text] = $site->artisan('larder:doctor', '--json');
        self::assertSame(0, $status, $text);
        self::assertStringContainsString('storage/framework/cache/larder', $text);
        [$status, $text] = $site->artisan('larder:why', 'k');
        self::assertSame(0, $status, $text);
        self::assertStringContainsString('disk (sqlite)', $text);
        self::assertSame(1, $site->artisan('larder:why', 'missing')[0]);
        [$status, $text] = $site->artisan('larder:top', '--once', '--json');
        self::assertSame(0, $status, $text);
        self::assertStringContainsString('"entries":2', \str_replace(' ', '', $text));
        [$status, $text] = $site->artisan('about', '--only=larder', '--json');
        self::assertSame(0, $status, $text);
        self::assertStringContainsString('framework\/cache\/larder', $text);
        self::assertSame(2, $site->artisan('larder:why', 'k', '--dsn=nonsense')[0]);
    }

    /** Of what environments and models give them: seconds as text, a user's id as owner. */
    public function testLocksTakeWhatOtherStoresTake(): void
    {
        $site = new Site();
        self::assertSame('[true,true,true,true,true,false]', Site::end($site->run(<<<'PHP'
            echo json_encode([cache()->lock("a", "10")->get(), cache()->lock("b", 1.5)->get(), ($c = cache()->lock("c", 10, 7))->get(), $c->isOwnedByCurrentProcess(), cache()->restoreLock("c", 7)->release(), cache()->lock("a", "10")->get()]);
            PHP))[1]);
    }

    public function testTagsThatAreKeptFollowThePrefix(): void
    {
        $site = new Site();
        self::assertSame('["one",null,"two","one"]', Site::end($site->run(<<<'PHP'
            $tags = cache()->tags("prices"); $store = cache()->getStore(); $prefix = $store->getPrefix(); $tags->put("k", "one", 600);
            $said = [$tags->get("k")]; $store->setPrefix("tenant2"); $said[] = $tags->get("k"); $tags->put("k", "two", 600);
            $said[] = cache()->tags("prices")->get("k"); $store->setPrefix($prefix); $said[] = $tags->get("k"); echo json_encode($said);
            PHP))[1]);
    }

    /** By a log-out in another tab: the response of the request that was under way stands. */
    public function testASessionThatWasDestroyedMeanwhileStaysSo(): void
    {
        $site = new Site(['SESSION_DRIVER' => 'larder']);
        self::assertSame('[true,""]', Site::end($site->run(<<<'PHP'
            $id = str_repeat("a", 40); $one = app("session")->driver()->getHandler(); app("session")->forgetDrivers(); $other = app("session")->driver()->getHandler();
            $one->write($id, "data"); $one->read($id); $other->destroy($id); echo json_encode([$one->write($id, "old"), $other->read($id)]);
            PHP))[1]);
    }

    public function testARequestThatEndsGivesBackASessionThatItHasNotWritten(): void
    {
        $site = new Site(['SESSION_DRIVER' => 'larder']);
        $site->directory->write('config/larder.php', '<?php return ["session_lock" => true];');
        self::assertSame('"data"', Site::end($site->run(<<<'PHP'
            $id = str_repeat("a", 40); $one = app("session")->driver()->getHandler(); app("session")->forgetDrivers(); $other = app("session")->driver()->getHandler();
            $one->write($id, "data"); $one->read($id); event(new Illuminate\Queue\Events\WorkerStopping()); echo json_encode($other->read($id));
            PHP))[1]);
    }

    public function testASignalEndsACommandAsItEndsBinLarders(): void
    {
        $site = new Site();
        Site::end($site->run('cache()->put("k", 1);'));
        $top = $site->start('', 'larder:top', '--json', '--interval=60');
        self::assertStringStartsWith('{', (string) $top->line());
        $top->signal(\SIGTERM);
        self::assertSame(0, $top->wait());
    }

    public function testItsConfigurationCanBePublished(): void
    {
        $site = new Site();
        self::assertSame(0, $site->artisan('vendor:publish', '--tag=larder-config')[0]);
        self::assertFileEquals(\dirname(__DIR__, 3) . '/config/larder.php', $site->directory->file('config/larder.php'));
        $site->directory->write('config/larder.php', '<?php return ["dsn" => "sqlite://" . storage_path("elsewhere"), "options" => ["budget" => "1M"]];');
        self::assertSame([0, '[1048576]'], Site::end($site->run('$s = Larder\Bridge\Laravel\Settings::of($app)->cache(); echo json_encode([Larder\Config\Options::from($s)->budget]); cache()->put("k", 1);')));
        self::assertFileExists($site->directory->file('storage/elsewhere/larder.db'));
    }

    /** As with two releases of an application over one cache. */
    #[TestWith([false, '"Ada"'])]
    #[TestWith([true, 'null'])]
    public function testAStoreMayMissObjectsOfClassesThatHaveChanged(bool $fingerprint, string $read): void
    {
        $site = new Site();
        $site->directory->write('config/cache.php', '<?php return ["default" => "larder", "stores" => ["larder" => ["driver" => "larder", "fingerprint" => ' . \var_export($fingerprint, true) . ']]];');
        self::assertSame([0, '"Ada"'], Site::end($site->run('final class Customer { public string $name = "Ada"; } cache()->forever("k", new Customer()); echo json_encode(cache()->get("k")?->name);')));
        self::assertSame([0, $read], Site::end($site->run('final class Customer { public string $name = "Ada"; public int $age = 36; } echo json_encode(cache()->get("k")?->name);')));
        // What the command line gets.
        $site->directory->write('config/cache.php', '<?php return ["default" => "larder", "serializable_classes" => ["App\\Customer", "stdClass"], "stores" => ["larder" => ["driver" => "larder", "fingerprint" => true]]];');
        [$status, $text] = Site::end($site->run('$o = Larder\Config\Options::from(Larder\Bridge\Laravel\Settings::of($app, config("cache.stores.larder"))->dsn()); echo json_encode([$o->classes, $o->fingerprint]);'));
        self::assertSame([0, '[["App\\\\Customer","stdClass"],true]'], [$status, $text]);
    }

    public function testAnotherUsersArtisanGetsOneLineWithTheCommandToType(): void
    {
        $this->demandUsers();
        $site = new Site();
        $this->giveTo('www-data', $site);
        // Before the web has asked for anything, and afterwards.
        foreach ([0, 1] as $_) {
            [$status, $text] = $site->artisan('cache:clear');
            self::assertNotSame(0, $status);
            self::assertStringContainsString('belongs to www-data, and this process runs as root. Type instead: sudo -u www-data php artisan cache:clear', (string) \preg_replace('/\s+/', ' ', $text));
            self::assertSame([0, '"v"'], Site::end($site->runAs('www-data', 'echo json_encode(cache()->rememberForever("k", fn () => "v"));')));
        }
        [$status, $text] = $site->artisanAs('nobody', 'cache:clear');
        self::assertNotSame(0, $status);
        self::assertStringContainsString('sudo -u www-data php artisan cache:clear', (string) \preg_replace('/\s+/', ' ', $text));
        self::assertSame(0, $site->artisanAs('www-data', 'cache:clear')[0]);
        self::assertSame([0, 'null'], Site::end($site->runAs('www-data', 'echo json_encode(cache()->get("k"));')));
        self::assertSame(0, $site->artisan('larder:doctor')[0], 'root becomes the web\'s user there');
    }

    /** The group may write: as where a deployer owns the files. */
    public function testAStorageThatAGroupMayWriteTo(): void
    {
        $this->demandUsers();
        $site = new Site(mode: 0o775);
        $this->giveTo('nobody', $site);
        \exec('chgrp -R www-data ' . \escapeshellarg($site->directory->path));
        self::assertSame([0, '"v"'], Site::end($site->runAs('www-data', 'echo json_encode(cache()->rememberForever("k", fn () => "v"));')));
        $directory = $site->directory->file('storage/framework/cache/larder');
        self::assertSame(0o700, \fileperms($directory) & 0o777);
        self::assertSame('www-data', \posix_getpwuid((int) \fileowner($directory))['name'] ?? null);
        [$status, $text] = $site->artisanAs('nobody', 'cache:clear');
        self::assertNotSame(0, $status);
        self::assertStringContainsString('sudo -u www-data php artisan cache:clear', (string) \preg_replace('/\s+/', ' ', $text));
    }

    public function testADeployersDirectoryCanBeMadeOrGivenToTheWebsUser(): void
    {
        $this->demandUsers();
        $site = new Site(mode: 0o775);
        $this->giveTo('nobody', $site);
        \exec('chgrp -R www-data ' . \escapeshellarg($site->directory->path));
        self::assertSame(0, $site->artisanAs('nobody', 'cache:clear')[0]);
        $remember = 'echo json_encode(cache()->rememberForever("k", fn () => "v"));';
        self::assertStringContainsString('belongs to nobody, and this process runs as www-data.', Site::end($site->runAs('www-data', $remember))[1]);
        $guide = (string) \file_get_contents(\dirname(__DIR__, 3) . '/docs/laravel.md');
        foreach (['chown -R', 'install -d'] as $command) {
            self::assertSame(1, \preg_match("/`($command [^`]*larder)`/", $guide, $match));
            $process = new Process(['sh', '-c', $match[1]], [], $site->directory->path);
            self::assertSame(0, $process->wait(), $process->errors());
            self::assertSame([0, '"v"'], Site::end($site->runAs('www-data', $remember)));
            \exec('rm -rf ' . \escapeshellarg($site->directory->file('storage/framework/cache/larder')));
        }
    }

    /** Everybody may write: another could put a directory of his own in its place. */
    public function testAStorageThatEverybodyMayWriteToIsRefusedInOneLineWithTheFix(): void
    {
        $this->demandUsers();
        $site = new Site(mode: 0o777);
        $this->giveTo('www-data', $site);
        [$status, $text] = Site::end($site->runAs('www-data', 'try { cache()->get("k"); } catch (Throwable $e) { echo $e->getMessage(); }'));
        self::assertSame(0, $status, $text);
        self::assertSame(1, \preg_match('/where every user can write.* To fix it, type: (chmod -R o-w (\S+))$/', $text, $match), $text);
        self::assertSame((string) \realpath($site->directory->file('storage')), \realpath($match[2]));
        \exec($match[1]);
        self::assertSame([0, '"v"'], Site::end($site->runAs('www-data', 'echo json_encode(cache()->rememberForever("k", fn () => "v"));')));
    }

    #[TestWith([['SESSION_DRIVER' => 'larder'], false])]
    #[TestWith([['SESSION_DRIVER' => 'larder'], true])]
    public function testSessions(array $environment, bool $isLocked): void
    {
        $site = new Site(['CACHE_STORE' => 'larder'] + $environment);
        $site->directory->write('config/larder.php', '<?php return ["session_lock" => ' . \var_export($isLocked, true) . '];');
        // Three requests of one visitor, each in a process of its own, then a log-in that gives the session another id.
        $visit = 'parse_str($argv[1], $cookies); $kernel = $app->make(Illuminate\Contracts\Http\Kernel::class);'
            . ' $response = $kernel->handle($request = Illuminate\Http\Request::create("/visits", cookies: $cookies)); $kernel->terminate($request, $response);'
            . ' $given = []; foreach ($response->headers->getCookies() as $cookie) { $given[$cookie->getName()] = $cookie->getValue(); } echo json_encode([$response->getContent(), http_build_query($given)]);';
        $cookies = '';
        foreach ([1, 2, 3] as $n) {
            [$status, $text] = Site::end($site->run($visit, $cookies));
            $said = \json_decode($text, true);
            \assert(\is_array($said) && \is_string($said[1]));
            self::assertSame([0, (string) $n], [$status, $said[0]], $text);
            $cookies = $said[1];
        }
        self::assertDirectoryExists($site->directory->file('storage/framework/sessions/larder'));
        $ids = '$s = session()->driver(); $s->setId(str_repeat("a", 40)); $s->start(); $s->put("k", 1); $s->save(); $s->start(); $s->regenerate(); $s->save();'
            . ' $t = new Illuminate\Session\Store("x", $s->getHandler(), $s->getId()); $t->start(); $t->put("more", 1); $t->save();'
            . ' echo json_encode([$t->get("k"), $t->getId() !== str_repeat("a", 40)]);';
        self::assertSame([0, '[1,true]'], Site::end($site->run($ids)));
        // Whoever still has the old id need not wait for the request that has left it.
        self::assertSame([0, '1'], Site::end($site->run('$s = session()->driver(); $s->setId(str_repeat("a", 40)); $s->start(); echo json_encode($s->get("k")); $s->getHandler()->destroy($s->getId()); $s->getHandler()->gc(7200);')));
        self::assertSame([0, 'null'], Site::end($site->run('$s = session()->driver(); $s->setId(str_repeat("a", 40)); $s->start(); echo json_encode($s->get("k"));')));
    }

    private function demandUsers(): void
    {
        \posix_geteuid() === 0 && \posix_getpwnam('www-data') !== false && \posix_getpwnam('nobody') !== false || self::markTestSkipped('Needs root, and the users www-data and nobody.');
        // All that is above this checkout must be open to others, as an application's directory is to the web's user.
        $process = new Process(['setpriv', '--reuid=www-data', '--regid=www-data', '--clear-groups', 'test', '-r', __FILE__]);
        $process->wait() === 0 || self::markTestSkipped('Other users cannot read this checkout.');
    }

    private function giveTo(string $user, Site $site): void
    {
        \exec("chown -R $user: " . \escapeshellarg($site->directory->path));
    }
}
