<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\SymfonyBundle\Profiler\LarderDataCollector;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

/** What the profiler's panel shows of a page, and that nothing is collected without it. */
#[CoversClass(LarderDataCollector::class)]
#[Group('bridge')]
final class ProfilerTest extends ApplicationTestCase
{
    public function testThePanelShowsEachCall(): void
    {
        [$page, $panel] = $this->play('pages', self::profiled(), ['/', '/_profiler/{token}?panel=larder'], ['page' => BusyPage::class], true);
        self::assertSame(200, $page[0]);
        self::assertStringContainsString('It costs 950.', $page[1]);
        self::assertSame(200, $panel[0], $panel[1]);
        $text = (string) \preg_replace('/\s+/', ' ', \html_entity_decode(\strip_tags((string) \preg_replace('~<(script|style).*?</\1>~s', '', $panel[1]))));
        self::assertMatchesRegularExpression('/ products get price_7 miss ?computed in \d+\.\d\d ms \d+\.\d+ ms \d{16} /', $text);
        self::assertMatchesRegularExpression('/ products get price_7 hit request \d+\.\d+ ms \d{16} /', $text);
        self::assertMatchesRegularExpression('/ products getItems price_7, price_8, price_10 2 of 3 request /', $text);
        self::assertStringContainsString(' cache.app get menu miss', $text);
        self::assertStringContainsString(' products commit price_8, price_9 ', $text);
        self::assertStringContainsString(' products invalidateTags old ', $text);
    }

    public function testACollectorTellsTierAndComputation(): void
    {
        [$calls] = $this->play('profile', self::profiled(), services: ['page' => BusyPage::class], debug: true);
        [$first, $second] = $calls;
        self::assertSame(['products', 'get', ['price_7'], 0, 1, []], [$first['pool'], $first['method'], $first['keys'], $first['hits'], $first['misses'], $first['tiers']]);
        self::assertGreaterThanOrEqual(3.0, $first['computed']);
        self::assertGreaterThanOrEqual($first['computed'], $first['time']);
        self::assertGreaterThan(0, $first['position']);
        self::assertSame([1, 0, ['request' => 1], null], [$second['hits'], $second['misses'], $second['tiers'], $second['computed']]);

        // The next process finds them on disk.
        [$calls] = $this->play('profile', self::profiled(), services: ['page' => BusyPage::class], debug: true);
        self::assertSame([1, 0, ['disk' => 1], null], [$calls[0]['hits'], $calls[0]['misses'], $calls[0]['tiers'], $calls[0]['computed']]);
        self::assertSame(['request' => 1], $calls[1]['tiers']);
        foreach ($calls as $call) {
            self::assertSame($call['hits'], \array_sum($call['tiers']), $call['method']);
        }
        $list = \array_values(\array_filter($calls, static fn(array $call): bool => $call['method'] === 'getItems'))[0];
        self::assertSame([2, 1, ['request' => 2]], [$list['hits'], $list['misses'], $list['tiers']]);
    }

    public function testWithoutTheProfilerNothingIsCollected(): void
    {
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder', 'tags' => true]]);
        self::assertSame([[], []], $this->play('profile', $config, services: ['page' => BusyPage::class]));
        $classes = $this->play('classes', $config, ['products', 'cache.app'], ['page' => BusyPage::class]);
        self::assertSame([LarderAdapter::class, LarderAdapter::class], \array_column($classes, 'class'));
        // Debugging alone does not either.
        $classes = $this->play('classes', $config, ['products'], ['page' => BusyPage::class], true);
        self::assertSame([LarderAdapter::class], \array_column($classes, 'class'));
    }

    /** @return array<string, array<string, mixed>> */
    private static function profiled(): array
    {
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder', 'tags' => true]], ['options' => ['near' => 'none']]);
        $config['framework']['profiler'] = ['only_exceptions' => false, 'collect' => true];
        $config['web_profiler'] = ['toolbar' => true];
        $config['twig'] = ['strict_variables' => true];

        return $config;
    }
}
