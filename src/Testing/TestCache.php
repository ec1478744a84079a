<?php

declare(strict_types=1);

namespace Larder\Testing;

use Larder\Cache;
use Larder\Config\Assembly;
use Larder\Config\InvalidConfiguration;
use Larder\Config\Options;
use Larder\Request\Request;
use Larder\System\Interval;
use Larder\System\InvalidInterval;

/**
 * A cache for the tests of a program: it lies in memory, and its time stands still until the test lets it pass. The program gets
 * `$cache`, a Cache like any other; request() gives what another process would have.
 */
final class TestCache
{
    public readonly Cache $cache;
    private readonly RecordedStore $store;
    private readonly TestClock $clock;

    // PHP shows what such an object holds in no dump, export or cast.
    private readonly \SensitiveParameterValue $options;

    /** @var list<Request> all over this store */
    private array $requests = [];

    /**
     * @param array<string, mixed> $options of Cache::open(), without tiers
     *
     * @throws InvalidConfiguration
     */
    public function __construct(#[\SensitiveParameter] array $options = [])
    {
        if (isset($options['dsn'])) {
            throw new InvalidConfiguration('The cache of a test lies in memory and takes no DSN. Leave the option "dsn" out, or open that one by Cache::open().');
        }
        $options['dsn'] = 'memory://';
        $this->options = new \SensitiveParameterValue($options);
        $this->store = new RecordedStore($this->clock = new TestClock(), Options::from($options)->nearBudget);
        $this->cache = $this->request();
    }

    /** The same cache as another request, in another process, sees it. */
    public function request(): Cache
    {
        /** @var array<string, mixed> $options */
        $options = $this->options->getValue();
        [$request, $space] = Assembly::build($options, $this->store);
        $this->requests[] = $request;

        return Cache::over($request, $space);
    }

    /**
     * Lets time pass for all that was stored, and in each request and each of its fibers. A cache made by apart() notices with its next refresh().
     *
     * @param int|float|\DateInterval $time seconds, 0 to ten thousand years; a fraction of a thousandth counts as a whole one
     *
     * @throws InvalidInterval|\InvalidArgumentException nothing passes
     */
    public function pass(int|float|\DateInterval $time): void
    {
        $seconds = $time instanceof \DateInterval ? Interval::seconds($time, true) : $time;
        // NaN fails both comparisons.
        if (!($seconds >= 0 && $seconds <= Interval::MOST)) {
            throw new \InvalidArgumentException('The time of ' . \var_export($seconds, true) . ' seconds cannot pass: it is not between 0 and ten thousand years. A test\'s time never goes back; make another TestCache to begin anew.');
        }
        $this->clock->now += (int) \ceil(\round($seconds * 1000, 3));
        foreach ($this->requests as $request) {
            // Copies end by the machine's clock.
            $request->dropCopies();
        }
    }

    /** How often remember(), fill(), set() or another call has stored a value under the key, since the beginning; fills count from writeFills() on. */
    public function stored(string $key, ?Cache $group = null): int
    {
        return $this->store->stored[($group ?? $this->cache)->internals()->journalled($key)[0]] ?? 0;
    }
}
