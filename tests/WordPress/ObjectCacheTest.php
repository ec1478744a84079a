<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Cache;
use Larder\Lab\WordPress\Release;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use Larder\WordPress\Flushes;
use Larder\WordPress\Groups;
use Larder\WordPress\ObjectCache;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** What plugins and importers rely on, by WordPress's functions, without a site. */
#[Group('wordpress')]
final class ObjectCacheTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        require_once __DIR__ . '/object-cache-stand-ins.php';
        require_once \dirname(__DIR__, 2) . '/wordpress/functions.php';
        $this->directory = new TemporaryDirectory();
        $this->request();
    }

    protected function tearDown(): void
    {
        unset($GLOBALS['wp_object_cache']);
        \LarderStandIns::$network = \LarderStandIns::$suspended = false;
    }

    public function testCountersAreNumbersThatEndAtZero(): void
    {
        self::assertFalse(\wp_cache_incr('n'));
        self::assertFalse(\wp_cache_decr('n'));
        foreach ([[0, 'incr', 1, 1], [1, 'incr', 2, 3], [3, 'decr', 2, 1], [1, 'decr', 5, 0], ['7', 'incr', 1, 8], ['word', 'incr', 2, 2], [[1], 'decr', 1, 0], [0.5, 'incr', 1, 1.5], [null, 'incr', 1, 1]] as [$from, $method, $by, $to]) {
            \wp_cache_set('n', $from, 'plugin');
            self::assertSame($to, ("wp_cache_$method")('n', $by, 'plugin'));
            self::assertSame($to, \wp_cache_get('n', 'plugin'));
            $this->request();
            self::assertSame($to, \wp_cache_get('n', 'plugin'));
        }
    }

    #[TestWith(['posts'])]
    #[TestWith(['plugin'])]
    #[TestWith(['transient'])]
    public function testAddReplaceAndDeleteSayWhatWasThere(string $group): void
    {
        foreach ([false, true] as $next) {
            $later = $next ? $this->request(...) : static fn() => null;
            self::assertFalse(\wp_cache_delete('k', $group));
            self::assertFalse(\wp_cache_replace('k', 1, $group));
            $later();
            self::assertFalse(\wp_cache_get('k', $group));
            // A stored false is there.
            self::assertTrue(\wp_cache_add('k', false, $group));
            $later();
            self::assertFalse(\wp_cache_add('k', 2, $group));
            $later();
            self::assertFalse(\wp_cache_get('k', $group, false, $found));
            self::assertTrue($found);
            self::assertTrue(\wp_cache_replace('k', 'b', $group));
            $later();
            self::assertSame('b', \wp_cache_get('k', $group));
            self::assertTrue(\wp_cache_delete('k', $group));
            $later();
            self::assertFalse(\wp_cache_get('k', $group, false, $found));
            self::assertFalse($found);
            self::assertFalse(\wp_cache_delete('k', $group));
        }
    }

    public function testSuspendedAdditionAddsNothingAndAllElseGoesOn(): void
    {
        \LarderStandIns::$suspended = true;
        self::assertFalse(\wp_cache_add('k', 1, 'plugin'));
        self::assertSame(['a' => false], \wp_cache_add_multiple(['a' => 1], 'posts'));
        self::assertTrue(\wp_cache_set('k', 1, 'plugin'));
        \LarderStandIns::$suspended = false;
        self::assertTrue(\wp_cache_add('a', 1, 'posts'));
    }

    public function testManyComeInTheOrderTheyWereAskedForAndFalseWhereThereIsNone(): void
    {
        self::assertSame([3 => true, 'a' => true, 1 => true], \wp_cache_set_multiple([3 => 'three', 'a' => false, 1 => null], 'plugin'));
        foreach ([false, true] as $next) {
            $next && $this->request();
            self::assertSame([1 => null, 'none' => false, 'a' => false, 3 => 'three'], \wp_cache_get_multiple([1, 'none', 'a', '3', 1], 'plugin'));
        }
        self::assertSame(['a' => true, 'none' => false, 3 => true], \wp_cache_delete_multiple(['a', 'none', 3], 'plugin'));
        self::assertSame([], \wp_cache_get_multiple([], 'plugin'));
        self::assertSame(['x' => true, 1 => false], \wp_cache_add_multiple(['x' => 1, 1 => 2], 'plugin'));
    }

    public function testItSaysWhatItSupports(): void
    {
        foreach (['add_multiple', 'set_multiple', 'get_multiple', 'delete_multiple', 'flush_runtime', 'flush_group'] as $feature) {
            self::assertTrue(\wp_cache_supports($feature));
        }
        self::assertFalse(\wp_cache_supports('time travel'));
    }

    public function testEverySiteOfANetworkHasItsOwnAndTheGlobalGroupsAreOfAll(): void
    {
        $this->network();
        foreach ([1, 2, 3] as $site) {
            \wp_cache_switch_to_blog($site);
            \wp_cache_set('k', "of $site", 'posts');
            \wp_cache_set('k', "of $site", 'plugin');
        }
        \wp_cache_set('k', 'of all', 'users');
        foreach ([false, true] as $next) {
            $next && $this->network();
            foreach ([2, 1, 3] as $site) {
                \wp_cache_switch_to_blog($site);
                self::assertSame(["of $site", "of $site", 'of all'], [\wp_cache_get('k', 'posts'), \wp_cache_get('k', 'plugin'), \wp_cache_get('k', 'users')]);
            }
        }
    }

    public function testAFlushOfOneSiteTouchesNoOther(): void
    {
        $this->network();
        foreach ([1, 2, 22] as $site) {
            \wp_cache_switch_to_blog($site);
            \wp_cache_set('k', $site, 'posts');
            \wp_cache_set('k', $site, 'plugin');
            \wp_cache_set('k', $site, 'transient');
        }
        \wp_cache_switch_to_blog(2);
        self::assertTrue(\wp_cache_flush_group('plugin'));
        \wp_cache_switch_to_blog(1);
        self::assertSame(1, \wp_cache_get('k', 'plugin'));
        \wp_cache_switch_to_blog(2);
        self::assertFalse(\wp_cache_get('k', 'plugin'));
        self::assertSame(2, \wp_cache_get('k', 'posts'));
        self::assertTrue(\wp_cache_flush());
        $this->network();
        foreach ([1 => 1, 2 => false, 22 => 22] as $site => $left) {
            \wp_cache_switch_to_blog($site);
            self::assertSame([$left, $left, $left], [\wp_cache_get('k', 'posts'), \wp_cache_get('k', 'plugin'), \wp_cache_get('k', 'transient')], "site $site");
        }
        self::assertTrue($this->cache()->flush_network());
        \wp_cache_switch_to_blog(1);
        self::assertFalse(\wp_cache_get('k', 'posts'));
    }

    public function testAFlushOfAGroupTouchesNoOther(): void
    {
        $groups = ['posts', 'post', 'posts/c', 'p', 'c', 'plugin', 'plugin:', ObjectCache::OWN];
        foreach ($groups as $group) {
            \wp_cache_set('k', $group, $group);
        }
        foreach (['posts', 'plugin', 'c', ObjectCache::OWN] as $number => $flushed) {
            self::assertTrue(\wp_cache_flush_group($flushed));
            $number % 2 === 0 && $this->request();
            $groups = \array_values(\array_diff($groups, [$flushed]));
            self::assertFalse(\wp_cache_get('k', $flushed));
            self::assertSame($groups, \array_map(static fn(string $group): mixed => \wp_cache_get('k', $group), $groups));
        }
    }

    public function testSaltedValuesAreTheSameAsWordPressHasThem(): void
    {
        // WordPress defines its own where a drop-in has none.
        $own = (string) \file_get_contents(Release::find('7.1')->path . '/wp-includes/cache-compat.php');
        eval('namespace WordPressOwn;' . \str_replace("function_exists( '", "function_exists( 'WordPressOwn\\", \substr($own, 5)));
        $both = ['wp_cache_', 'WordPressOwn\wp_cache_'];
        foreach ([[$both[0], $both[1]], [$both[1], $both[0]]] as [$by, $for]) {
            ("{$by}set_salted")('k', ['ids' => [1, 2]], 'post-queries', ['1.5', 'x']);
            ("{$by}set_multiple_salted")(['a' => 1, 7 => 'seven'], 'post-queries', '1.5');
            $this->request();
            self::assertSame(['ids' => [1, 2]], ("{$for}get_salted")('k', 'post-queries', ['1.5', 'x']));
            self::assertSame(['ids' => [1, 2]], ("{$for}get_salted")('k', 'post-queries', '1.5:x'));
            self::assertFalse(("{$for}get_salted")('k', 'post-queries', '1.6'));
            self::assertSame([7 => 'seven', 'none' => false, 'a' => 1, 'k' => false], ("{$for}get_multiple_salted")([7, 'none', 'a', 'k'], 'post-queries', '1.5'));
            self::assertSame([7 => false], ("{$for}get_multiple_salted")([7], 'post-queries', '2'));
        }
        \wp_cache_set('k', 'no array', 'post-queries');
        \wp_cache_set('l', ['salt' => '1'], 'post-queries');
        foreach ($both as $by) {
            self::assertFalse(("{$by}get_salted")('k', 'post-queries', '1'));
            self::assertSame(['k' => false, 'l' => false], ("{$by}get_multiple_salted")(['k', 'l'], 'post-queries', '1'));
        }
    }

    public function testWhatImportersDoToFreeMemory(): void
    {
        \wp_cache_set('set', 1, 'posts');
        \wp_cache_add('added', 2, 'posts');
        // As the WordPress importer and commands of WP-CLI do.
        $cache = $this->cache();
        foreach (['group_ops' => [], 'stats' => [], 'memcache_debug' => [], 'cache' => []] as $name => $value) {
            $cache->{$name} = $value;
        }
        self::assertFalse(\is_callable([$cache, '__remoteset']));
        self::assertTrue(isset($cache->cache, $cache->group_ops));
        self::assertSame([1, 2], [\wp_cache_get('set', 'posts'), \wp_cache_get('added', 'posts')]);
        unset($cache->cache['posts']);
        self::assertSame([1, 2], [\wp_cache_get('set', 'posts'), \wp_cache_get('added', 'posts')]);
        self::assertTrue(\wp_cache_flush_runtime());
        self::assertSame([1, 2], [\wp_cache_get('set', 'posts'), \wp_cache_get('added', 'posts')]);
        $this->request();
        self::assertSame([1, 2], [\wp_cache_get('set', 'posts'), \wp_cache_get('added', 'posts')]);
        self::assertInstanceOf('WP_Object_Cache', $cache);
    }

    public function testAnObjectOfAClassThatIsNotLoadedIsAMissUntilItIs(): void
    {
        eval('class LarderShopCart { public array $items = ["one"]; }');
        \wp_cache_set('cart', new \LarderShopCart(), 'plugin');
        \wp_cache_set('carts', ['all' => [1 => new \LarderShopCart()]], 'plugin');
        \wp_cache_set('other', 1, 'plugin');
        $this->cache()->close();
        $child = Process::snippet(
            'require $argv[1] . "/object-cache-stand-ins.php"; require $argv[1] . "/../../wordpress/functions.php";'
            . '$GLOBALS["wp_object_cache"] = new ' . ObjectCache::class . '(' . Cache::class . '::open(["dsn" => $argv[2]]));'
            . '$get = fn() => array_map(fn($key) => serialize(wp_cache_get($key, "plugin")), ["cart", "carts", "other"]);'
            . '$got = [$get(), wp_cache_get_multiple(["cart", "carts", "other"], "plugin")];'
            . 'eval("class LarderShopCart { public array \$items = []; }"); echo json_encode([...$got, $get()]);',
            [__DIR__, $this->dsn()],
        );
        $object = \serialize(new \LarderShopCart());
        self::assertSame([
            ['b:0;', 'b:0;', 'i:1;'], ['cart' => false, 'carts' => false, 'other' => 1], [$object, "a:1:{s:3:\"all\";a:1:{i:1;$object}}", 'i:1;'],
        ], \json_decode($child->output(), true), $child->errors());
        self::assertSame('', $child->errors());
    }

    #[TestWith(['posts'])]
    #[TestWith(['plugin'])]
    public function testWhatNobodyElseCouldUseStaysInTheRequest(string $group): void
    {
        $closure = static fn(): int => 7;
        \wp_cache_set('k', 'old', $group);
        $this->request();
        \wp_cache_set('k', $closure, $group);
        \wp_cache_add('added', ['callback' => $closure], $group);
        \wp_cache_set_multiple(['a' => 1, 'b' => $closure], $group);
        foreach ([false, true] as $force) {
            self::assertSame(7, \wp_cache_get('k', $group, $force)());
            self::assertSame(7, \wp_cache_get('added', $group, $force)['callback']());
            self::assertSame(7, \wp_cache_get('b', $group, $force)());
        }
        $this->request();
        self::assertSame([false, false, 1, false], [\wp_cache_get('k', $group), \wp_cache_get('added', $group), \wp_cache_get('a', $group), \wp_cache_get('b', $group)], 'And what it replaced is gone.');
    }

    /** As importers do, who free memory so. */
    #[TestWith(['posts'])]
    #[TestWith(['plugin'])]
    public function testWhoEmptiesTheRequestsMemoryEmptiesItOfWhatNobodyElseCouldUse(string $group): void
    {
        foreach ([
            'replace' => static fn(): bool => \wp_cache_replace('k', 2, $group),
            'incr' => static fn(): bool => \wp_cache_incr('k', 1, $group) === 2,
        ] as $how => $call) {
            \wp_cache_set('k', static fn(): int => 7, $group);
            $this->cache()->cache = [];
            self::assertTrue(\wp_cache_add('k', 1, $group), $how);
            $this->cache()->cache = [];
            self::assertTrue($call(), $how);
            $this->request();
            self::assertSame(2, \wp_cache_get('k', $group), $how);
        }
        foreach ([
            'get' => static fn(): mixed => \wp_cache_get('k', $group),
            'get_multiple' => static fn(): mixed => \wp_cache_get_multiple(['k'], $group)['k'],
        ] as $how => $get) {
            \wp_cache_set('k', static fn(): int => 7, $group);
            $this->request();
            \wp_cache_set('k', static fn(): int => 7, $group);
            $this->cache()->cache = [];
            $other = new ObjectCache($this->open());
            self::assertTrue($other->set('k', "theirs, $how", $group));
            $this->cache()->larder()?->learn();
            self::assertSame("theirs, $how", $get());
            self::assertTrue($other->set('k', "newer, $how", $group));
            self::assertSame("newer, $how", \wp_cache_get('k', $group, true));
        }
    }

    public function testACallerThatChangesAnObjectDoesNotChangeTheCache(): void
    {
        $object = (object) ['list' => (object) ['n' => 1], 'n' => 1];
        \wp_cache_set('k', $object, 'posts');
        $object->n = 2;
        $got = \wp_cache_get('k', 'posts');
        $got->n = 3;
        \wp_cache_get_multiple(['k'], 'posts')['k']->n = 4;
        self::assertSame(1, \wp_cache_get('k', 'posts')->n);
        $this->request();
        foreach ([1, 2] as $again) {
            $got = \wp_cache_get('k', 'posts');
            self::assertSame(1, $got->n);
            $got->n = 5;
        }
        \wp_cache_get('k', 'posts')->list->n = 6;
        $this->request();
        self::assertSame(1, \wp_cache_get('k', 'posts')->list->n, 'Nor does one that changes what lies in it, for the next request.');
    }

    public function testLongNamesAndLargeValuesAreNoErrors(): void
    {
        $long = \str_repeat('ü/:', 100_000);
        $large = \random_bytes(20_000_000);
        foreach ([['k', $long], [$long, 'plugin'], [$long, $long], [$long . '!', 'plugin']] as $number => [$key, $group]) {
            foreach ([false, true] as $next) {
                \wp_cache_set($key, $number, $group);
                self::assertSame([$key => $number, 'none' => false], \wp_cache_get_multiple([$key, 'none'], $group));
                self::assertSame($number + 1, \wp_cache_incr($key, 1, $group));
                $next && $this->request();
                self::assertContains(\wp_cache_get($key, $group), $next ? [$number + 1, false] : [$number + 1]);
            }
        }
        self::assertSame(4, \wp_cache_get($long . '!', 'plugin'));
        self::assertSame(2, \wp_cache_get($long, 'plugin'), 'Each long key is one of its own.');
        \wp_cache_set('large', 'short', 'plugin');
        \wp_cache_set('large', $large, 'plugin');
        self::assertTrue(\wp_cache_get('large', 'plugin') === $large);
        $this->request();
        self::assertContains(\wp_cache_get('large', 'plugin') === $large ?: \wp_cache_get('large', 'plugin'), [true, false], 'It is there or it is not; what it replaced is not.');
    }

    public function testAValueLivesAsLongAsItWasToldTo(): void
    {
        \wp_cache_set('soon', 1, 'transient', 1);
        \wp_cache_set('later', 1, 'transient', 60);
        \wp_cache_add('soon', 1, 'posts', 1);
        \wp_cache_set('never', 1, 'plugin', 0);
        // As set_transient() with a time that has passed.
        \wp_cache_set('over', 'old', 'plugin');
        \wp_cache_set('over', 1, 'plugin', -1);
        $this->request();
        self::assertSame([1, 1, 1, 1, false], [\wp_cache_get('soon', 'transient'), \wp_cache_get('later', 'transient'), \wp_cache_get('soon', 'posts'), \wp_cache_get('never', 'plugin'), \wp_cache_get('over', 'plugin')]);
        Wait::until(function (): bool {
            $this->request();

            return [\wp_cache_get('soon', 'transient'), \wp_cache_get('soon', 'posts')] === [false, false];
        }, 'the end of both');
        self::assertSame([false, 1, false, 1], [\wp_cache_get('soon', 'transient'), \wp_cache_get('later', 'transient'), \wp_cache_get('soon', 'posts'), \wp_cache_get('never', 'plugin')]);
        self::assertTrue(\wp_cache_add('soon', 2, 'transient', 1));
    }

    // Seen to fail: an array was no group that get() knew, and what is over at once could not be added.
    public function testOddGroupsAndLives(): void
    {
        foreach ([[], null, false, 0, 0.0, '', '0'] as $group) {
            self::assertTrue(\wp_cache_set('k', 'of the default group', $group));
            self::assertSame('of the default group', \wp_cache_get('k', $group));
            $this->request();
            self::assertSame('of the default group', \wp_cache_get('k', $group));
            self::assertSame('of the default group', \wp_cache_get('k', $group, true));
        }
        foreach (['posts', 'plugin', 'transient', 'default'] as $group) {
            self::assertTrue(\wp_cache_add('over', 1, $group, -1));
            $this->request();
            self::assertFalse(\wp_cache_get('over', $group));
            self::assertTrue(\wp_cache_add('over', 3, $group));
            $this->request();
            self::assertFalse(\wp_cache_add('over', 4, $group, -1));
            self::assertSame(3, \wp_cache_get('over', $group));
        }
    }

    /** Two requests at the same time. */
    public function testWhoComputedFromAnOlderViewDoesNotBuryTheNewer(): void
    {
        $first = $this->cache();
        $second = new ObjectCache($this->open());
        self::assertFalse($first->get('alloptions', 'options'));
        $second->set('alloptions', ['new'], 'options');
        $second->close();
        self::assertTrue($first->add('alloptions', ['old'], 'options'));
        self::assertSame(['old'], $first->get('alloptions', 'options'), 'It has what it computed,');
        $this->request();
        self::assertSame(['new'], \wp_cache_get('alloptions', 'options'), 'and nobody else has.');
        // Both read it, both change it.
        $first = $this->cache();
        $second = new ObjectCache($this->open());
        $one = $first->get('alloptions', 'options');
        $two = $second->get('alloptions', 'options');
        $first->set('alloptions', [...$one, 'first'], 'options');
        $second->set('alloptions', [...$two, 'second'], 'options');
        $second->close();
        $this->request();
        self::assertFalse(\wp_cache_get('alloptions', 'options'), 'The database decides.');
    }

    public function testOnlyOneOfManyGetsALock(): void
    {
        $others = [new ObjectCache($this->open()), new ObjectCache($this->open()), $this->cache()];
        $got = [];
        foreach ($others as $other) {
            $other->get('lock', 'plugin');
            $got[] = $other->add('lock', \count($got), 'plugin', 60);
        }
        self::assertSame([true, false, false], $got);
        self::assertSame(0, $others[2]->get('lock', 'plugin', true));
        self::assertTrue($others[0]->delete('lock', 'plugin'));
        self::assertTrue($others[1]->add('lock', 1, 'plugin'), 'It had seen the first one.');
        self::assertTrue($others[2]->add('short', 1, 'plugin', 1));
        self::assertFalse($others[2]->add('short', 2, 'plugin', 1));
        Wait::until(static fn(): bool => $others[2]->add('short', 2, 'plugin', 1), 'the end of its own');
    }

    public function testForceReadsWhatOthersHaveWrittenMeanwhile(): void
    {
        \wp_cache_set('k', 'mine', 'plugin');
        (new ObjectCache($this->open()))->set('k', 'theirs', 'plugin');
        self::assertSame('mine', \wp_cache_get('k', 'plugin'));
        self::assertSame('theirs', \wp_cache_get('k', 'plugin', true));
        self::assertSame('theirs', \wp_cache_get('k', 'plugin'));
    }

    public function testARequestThatGoesOnLearnsWhatOthersChanged(): void
    {
        \wp_cache_set('k', 'mine', 'plugin');
        $this->cache()->add_non_persistent_groups(['volatile']);
        \wp_cache_set('k', 'kept', 'volatile');
        (new ObjectCache($this->open()))->set('k', 'theirs', 'plugin');
        $this->wait();
        self::assertSame('theirs', \wp_cache_get('k', 'plugin'));
        self::assertSame('kept', \wp_cache_get('k', 'volatile'));
        (new ObjectCache($this->open()))->set('k', 'theirs again', 'plugin');
        $this->due();
        self::assertSame(['k' => 'theirs again'], \wp_cache_get_multiple(['k'], 'plugin'));
    }

    /** It is at another site when it learns that. */
    public function testARequestThatGoesOnKeepsOfEverySiteWhatItAloneHas(): void
    {
        $this->network();
        $this->cache()->add_non_persistent_groups(['volatile']);
        \wp_cache_switch_to_blog(2);
        \wp_cache_set('k', 'kept', 'volatile');
        \wp_cache_set('closure', static fn(): int => 7, 'plugin');
        \wp_cache_set('k', 'mine', 'plugin');
        \wp_cache_switch_to_blog(1);
        \wp_cache_set('k', 'at hand', 'plugin');
        $other = new ObjectCache($this->open());
        $other->switch_to_blog(2);
        $other->set('k', 'theirs', 'plugin');
        $this->wait();
        \wp_cache_switch_to_blog(2);
        self::assertSame(['theirs', 'kept'], [\wp_cache_get('k', 'plugin'), \wp_cache_get('k', 'volatile')]);
        self::assertTrue(\wp_cache_replace('k', 'replaced', 'volatile'));
        self::assertSame(7, \wp_cache_get('closure', 'plugin')());
    }

    public function testWhatHasEndedMeanwhileAtAnotherSiteIsNotThere(): void
    {
        $this->network();
        \wp_cache_switch_to_blog(2);
        \wp_cache_set('k', 'short', 'transient', 1);
        \wp_cache_switch_to_blog(1);
        \wp_cache_set('k', 'at hand', 'plugin');
        Wait::until(function (): bool {
            $this->wait();
            \wp_cache_switch_to_blog(2);
            $found = \wp_cache_get('k', 'transient');
            \wp_cache_switch_to_blog(1);

            return $found === false;
        }, 'its end');
        $this->addToAssertionCount(1);
    }

    public function testAnObjectInThePlaceOfOursIsAskedForEveryHit(): void
    {
        $GLOBALS['wp_object_cache'] = new class {
            /** @var array<string, array<string, string>> */
            public array $cache = ['posts' => ['k' => 'as it lies there']];

            public function get(int|string $key, string $group): string
            {
                return "$group/$key as it is given";
            }

            public function close(): void {}
        };
        self::assertSame('posts/k as it is given', \wp_cache_get('k', 'posts'));
    }

    public function testEveryFlushIsDoneAndWhoAlwaysFlushesIsNamed(): void
    {
        $folder = $this->directory->file('site/wp-content/plugins/flusher');
        \mkdir($folder, 0o700, true);
        \file_put_contents("$folder/flusher.php", '<?php return static fn(): bool => wp_cache_flush();');
        $log = $this->directory->file('log');
        $settings = [\ini_set('error_log', $log), \ini_set('log_errors', '1')];
        $plugin = require "$folder/flusher.php";
        $named = [];
        foreach (['plugins/flusher' => $plugin, 'a command' => \wp_cache_flush(...)] as $who => $flush) {
            // A minute that begins amid them counts anew.
            Wait::until(static fn(): bool => (int) \date('s') <= 57, 'the next minute');
            for ($number = 1; $number <= Flushes::LIMIT + 20; $number++) {
                \wp_cache_set('k', 1, 'posts');
                \wp_cache_set('k', 1, 'plugin');
                self::assertTrue($flush());
                $this->request();
                self::assertSame([false, false], [\wp_cache_get('k', 'posts'), \wp_cache_get('k', 'plugin')], "$who, flush $number");
            }
            $named[$who] = Flushes::LIMIT + 20;
        }
        \ini_set('error_log', (string) $settings[0]);
        \ini_set('log_errors', (string) $settings[1]);
        self::assertCount(2, \file($log) ?: [], (string) \file_get_contents($log));
        self::assertStringContainsString('plugins/flusher has flushed', (string) \file_get_contents($log));
        $root = $this->cache()->larder();
        \assert($root !== null);
        self::assertSame($named, (new Flushes($root->group(ObjectCache::OWN, true)))->offenders());
    }

    public function testAnObjectThatSomebodyMakesIsOverTheSameCache(): void
    {
        $own = new \WP_Object_Cache();
        self::assertSame($this->cache()->larder(), $own->larder());
        $GLOBALS['wp_object_cache'] = $own;
        self::assertTrue(\wp_cache_set('k', 'new', 'plugin'));
        $this->request();
        self::assertSame('new', \wp_cache_get('k', 'plugin'));
        self::assertNull((new ObjectCache(null))->larder());
    }

    public function testWhoExtendsWordPresssClassCanExtendThisOne(): void
    {
        $extended = new class extends \WP_Object_Cache {
            public function get($key, $group = 'default', $force = false, &$found = null)
            {
                return parent::get($key, $group, $force, $found);
            }

            public function add_global_groups($groups)
            {
                parent::add_global_groups($groups);
            }

            public function add_non_persistent_groups($groups)
            {
                parent::add_non_persistent_groups($groups);
            }

            public function switch_to_blog($blog_id)
            {
                parent::switch_to_blog($blog_id);
            }

            public function reset()
            {
                parent::reset();
            }

            public function stats()
            {
                parent::stats();
            }
        };
        $extended->add_non_persistent_groups('volatile');
        self::assertTrue($extended->set('k', 1, 'volatile'));
        self::assertSame(1, $extended->get('k', 'volatile'));
        $this->request();
        self::assertFalse(\wp_cache_get('k', 'volatile'));
    }

    public function testSaltsOfAnyTypeAreTakenAsTheyAre(): void
    {
        foreach ([5, 0.5, true, 'text', ['a', 'b']] as $salt) {
            self::assertTrue(\wp_cache_set_salted('k', 'v', 'plugin', $salt));
            $this->request();
            self::assertSame('v', \wp_cache_get_salted('k', 'plugin', $salt), \serialize($salt));
            self::assertFalse(\wp_cache_get_salted('k', 'plugin', 'another'));
        }
        self::assertFalse(\wp_cache_get_salted('k', 'plugin', 'a.b'));
        self::assertSame('v', \wp_cache_get_salted('k', 'plugin', 'a:b'), 'as WordPress joins them');
    }

    public function testExtremesAreNoErrors(): void
    {
        \wp_cache_set('n', 5, 'plugin');
        self::assertSame(5 - (float) \PHP_INT_MIN, \wp_cache_decr('n', \PHP_INT_MIN, 'plugin'));
        foreach ([\PHP_INT_MIN, \PHP_INT_MIN + 1, -9_300_000_000_000_000, -1] as $expire) {
            \wp_cache_set('k', 'v', 'plugin', $expire);
            $this->request();
            self::assertFalse(\wp_cache_get('k', 'plugin'), (string) $expire);
        }
        \wp_cache_set('k', 'v', 'plugin', \PHP_INT_MAX);
        $this->request();
        self::assertSame('v', \wp_cache_get('k', 'plugin'));
    }

    public function testALongKeyIsNoOtherKey(): void
    {
        $long = \str_repeat('long', 500);
        \wp_cache_set($long, 1, 'plugin');
        \wp_cache_set('sha256:' . \hash('sha256', $long), 2, 'plugin');
        $this->request();
        self::assertSame(1, \wp_cache_get($long, 'plugin'));
    }

    /** @return iterable<string, array{mixed}> */
    public static function values(): iterable
    {
        foreach ([false, true, null, 0, -1, \PHP_INT_MAX, 0.0, -0.0, 0.1, 1e300, \INF, '', '0', 'b:0;', 'N;', "\0\xff", [], ['12' => 1, '012' => 2, 1.0 => 3], [[null, false, ''], 'a' => ['b' => ['c' => 1.5]]]] as $value) {
            yield \serialize($value) => [$value];
        }
    }

    #[DataProvider('values')]
    public function testAValueComesBackAsItWas(mixed $value): void
    {
        foreach (['posts', 'plugin', 'transient', 'site-transient'] as $group) {
            \wp_cache_set(' a key ', $value, $group);
            \wp_cache_add('0', $value, $group);
        }
        foreach ([false, true] as $next) {
            $next && $this->request();
            foreach (['posts', 'plugin', 'transient', 'site-transient'] as $group) {
                foreach ([' a key ', 0] as $key) {
                    self::assertSame(\serialize($value), \serialize(\wp_cache_get($key, $group, false, $found)));
                    self::assertTrue($found);
                }
            }
        }
    }

    public function testWhatIsWordPresssOwnIsKnown(): void
    {
        self::assertTrue(Groups::isOwn('options'));
        self::assertTrue(Groups::isOwn('product_cat_relationships'));
        self::assertFalse(Groups::isOwn('woocommerce'));
        self::assertTrue(Groups::isCacheOnly('transient'));
        self::assertFalse(Groups::isCacheOnly('options'));
    }

    /** The next one. */
    private function request(): void
    {
        ($GLOBALS['wp_object_cache'] ?? null)?->close();
        unset($GLOBALS['wp_object_cache']);
        \gc_collect_cycles();
        $GLOBALS['wp_object_cache'] = new ObjectCache($this->open());
        // As in a page: on the command line each hit looks at the clock.
        $GLOBALS['wp_object_cache']->mask = 15;
    }

    private function network(): void
    {
        \LarderStandIns::$network = true;
        $this->request();
        \wp_cache_add_global_groups(['users', 'site-transient']);
    }

    /** Until the request looks at what others have changed: it asks the clock at some of its hits. */
    private function wait(): void
    {
        $this->due();
        for ($i = 0; $i < 16; $i++) {
            \wp_cache_get('k', 'plugin');
        }
    }

    /** A second later. */
    private function due(): void
    {
        (new \ReflectionProperty(ObjectCache::class, 'due'))->setValue($this->cache(), 0);
    }

    private function open(): Cache
    {
        return Cache::open(['dsn' => $this->dsn()]);
    }

    private function dsn(): string
    {
        return 'sqlite://' . $this->directory->file('cache');
    }

    private function cache(): ObjectCache
    {
        return $GLOBALS['wp_object_cache'];
    }
}
