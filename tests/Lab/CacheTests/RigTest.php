<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\CacheTests;

use Larder\Lab\CacheTests\Rig;
use Larder\Lab\CacheTests\Score;
use Larder\Lab\CacheTests\Suite;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

#[Group('long')]
final class RigTest extends TestCase
{
    /** They ask for what a cache adds to a request or to a response. */
    private const OF_A_CACHE = ['ccreq-oic', 'cdn-expires-update-exceed', 'cdn-remove-age-exceed', 'conditional-etag-vary-headers-mismatch', 'head-200-retain', 'other-age-delay', 'partial-store-partial-complete'];

    /**
     * No cache passes it, the published ones included: the suite's client sends no quotes where the test looks for them.
     */
    private const OF_NOBODY = ['conditional-etag-forward-unquoted'];

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

    /** The page on HTTP's rules names the score, and each test that does not pass. */
    public function testThePageCacheScoresWhatTheDocumentationSays(): void
    {
        $page = (string) \file_get_contents(__DIR__ . '/../../../docs/http-rules.md');
        self::assertSame(1, \preg_match('/^\| Larder \| (\d+) of (\d+) \| (\d+) of (\d+) \|$/m', $page, $said));
        \preg_match_all('/^\| (`[^|]+`) \|/m', (string) \strstr($page, '| test | why |'), $rows);
        \preg_match_all('/`([^`]+)`/', \implode($rows[1]), $named);
        $suite = Suite::installed();
        $rig = new Rig($suite);
        try {
            $score = new Score($suite->tests(), $suite->run($rig->base()));
        } finally {
            $rig->stop();
        }
        $failed = [];
        foreach ([Score::REQUIRED, Score::OPTIMAL] as $kind) {
            \array_push($failed, ...$score->ids($kind, Score::FAILED, Score::UNREADY, Score::SKIPPED));
        }

        self::assertEqualsCanonicalizing($failed, $named[1]);
        self::assertSame(
            [\count($score->ids(Score::REQUIRED, Score::PASSED)), \count($score->ids(Score::REQUIRED)), \count($score->ids(Score::OPTIMAL, Score::PASSED)), \count($score->ids(Score::OPTIMAL))],
            \array_map(\intval(...), \array_slice($said, 1)),
        );
    }
}
