<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\CacheTests;

use Larder\Lab\CacheTests\Rig;
use Larder\Lab\CacheTests\Suite;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

#[Group('long')]
final class RigTest extends TestCase
{
    /** They ask for what a cache adds to a request or to a response. */
    private const OF_A_CACHE = ['ccreq-oic', 'head-200-retain', 'partial-store-partial-complete', 'surrogate-append-capabilities'];

    /**
     * No cache passes them, the published ones included: the suite's client sends no quotes where the test looks for them,
     * and where the origin closes the connection no response has the field that the test looks for.
     */
    private const OF_NOBODY = ['conditional-etag-forward-unquoted', 'stale-close-must-revalidate', 'stale-close-no-cache', 'stale-close-proxy-revalidate', 'stale-close-s-maxage=2'];

    /** nginx, PHP and the Forwarder change nothing that a test sees: what does not pass misses a stored response. */
    public function testWithoutAPageCacheTheSuiteMissesNothingElse(): void
    {
        $suite = Suite::installed();
        $rig = new Rig($suite, cached: false);
        try {
            $results = $suite->run($rig->base());
            $complaints = $rig->complaints();
        } finally {
            $rig->stop();
        }
        $others = [];
        foreach ($results as $id => $result) {
            if ($result !== true && \preg_match('/does not come from cache|should have been conditional/', $result[1]) !== 1) {
                $others[$id] = $result[1];
            }
        }

        self::assertGreaterThan(300, \count($results));
        self::assertSame('', $complaints);
        self::assertSame([], \array_diff_key($others, \array_flip([...self::OF_A_CACHE, ...self::OF_NOBODY])));
    }
}
