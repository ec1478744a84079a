<?php

declare(strict_types=1);

namespace Larder\Tests\Architecture;

use PHPat\Selector\Selector;
use PHPat\Selector\SelectorInterface;
use PHPat\Test\Attributes\TestRule;
use PHPat\Test\Builder\Rule;
use PHPat\Test\PHPat;

/**
 * Which folder of src/ and symfony-bundle/src/ may import which: a folder imports those in its row and no other. Each row names only rows above it,
 * so no circle is possible.
 *
 * PHPStan checks it, by phpat, and so does `make check`.
 */
final class Imports
{
    private const ROWS = [
        'System' => [],
        'Codec' => ['System'],
        'Driver' => [],
        'Driver\Memcached' => ['System', 'Driver'],
        'Driver\Redis' => ['System', 'Driver'],
        'Driver\Sqlite' => ['System'],
        'Events' => [],
        'Store\Journal' => ['System'],
        'Store' => ['System', 'Store\Journal'],
        'Store\File' => ['System', 'Store\Journal', 'Store'],
        'Store\Memcached' => ['System', 'Driver\Memcached', 'Store\Journal', 'Store'],
        'Store\Redis' => ['System', 'Driver\Redis', 'Store\Journal', 'Store'],
        'Store\Sqlite' => ['System', 'Driver\Sqlite', 'Store\Journal', 'Store'],
        'Near' => ['System', 'Codec', 'Store\Journal', 'Store'],
        'Request' => ['System', 'Codec', 'Events', 'Store\Journal', 'Store', 'Near'],
        'Config' => ['System', 'Codec', 'Events', 'Driver\Redis', 'Store', 'Store\File', 'Store\Memcached', 'Store\Redis', 'Store\Sqlite', 'Request', 'Near'],
        'Counter' => ['System', 'Driver\Redis', 'Driver\Sqlite', 'Config'],
        'Lock' => ['System', 'Driver\Redis', 'Driver\Sqlite', 'Config'],
        'Session' => ['System', 'Driver\Redis', 'Driver\Sqlite', 'Config', 'Lock'],
        'RateLimiter' => ['System', 'Driver\Redis', 'Driver\Sqlite', 'Config'],
        // Cache, the front door, Counter and RateLimiter.
        '' => ['System', 'Codec', 'Request', 'Near', 'Config', 'Counter', 'RateLimiter'],
        'Metrics' => ['System', 'Events', 'Request', ''],
        'Psr' => ['System', 'Codec', ''],
        'Testing' => ['System', 'Codec', 'Store\Journal', 'Store', 'Request', 'Config', ''],
        'Page\Http' => [],
        'Page\Files' => ['System', 'Config', ''],
        'Page' => ['System', 'Config', '', 'Page\Http', 'Page\Files'],
        'Queue' => ['System', 'Codec', 'Driver\Redis', 'Driver\Sqlite', 'Config'],
        'Console\Support' => ['System', 'Config', ''],
        'Console\Doctor' => ['System', 'Driver\Redis', 'Config', '', 'Console\Support'],
        'Console\Fleet' => ['System', 'Store\File', 'Config', 'Console\Support'],
        'Console\Page' => ['Config', '', 'Page', 'Console\Support'],
        'Console\Warm' => ['System', 'Page\Http', 'Page', 'Console\Support', 'Console\Page'],
        'Console\Queue' => ['System', 'Queue', 'Console\Support'],
        'Console' => ['System', 'Codec', 'Request', 'Config', '', 'Metrics', 'Page', 'Page\Files', 'Queue', 'Console\Support', 'Console\Doctor', 'Console\Fleet', 'Console\Page', 'Console\Warm', 'Console\Queue'],
        'Bridge\Laravel' => ['System', 'Codec', 'Config', 'Request', 'Lock', 'Session', '', 'Queue', 'Console\Support', 'Console'],
        'SymfonyBundle\Cache' => ['Codec', ''],
        'SymfonyBundle\Console' => ['Config', 'Console\Support'],
        'SymfonyBundle\Lock' => ['Config', 'Lock', ''],
        'SymfonyBundle\Messenger' => ['Config', '', 'Queue'],
        'SymfonyBundle\Profiler' => ['', 'SymfonyBundle\Cache'],
        'SymfonyBundle\DependencyInjection' => ['', 'SymfonyBundle\Lock', 'SymfonyBundle\Profiler'],
        'SymfonyBundle' => ['Session', '', 'Console', 'SymfonyBundle\Cache', 'SymfonyBundle\Console', 'SymfonyBundle\Lock', 'SymfonyBundle\Messenger', 'SymfonyBundle\DependencyInjection'],
    ];

    /** Imports that a row cannot say: the laboratory's commands appear in bin/larder where it is installed. */
    private const BESIDE = ['Console' => ['Lab\Console']];

    /** @return iterable<string, Rule> */
    #[TestRule]
    public function imports(): iterable
    {
        $above = [];
        foreach (self::ROWS as $folder => $allowed) {
            if (\array_diff($allowed, $above) !== []) {
                throw new \LogicException("The row of \"$folder\" names a folder that does not stand above it.");
            }
            $above[] = $folder;
            yield $folder === '' ? 'Cache' : $folder => PHPat::rule()
                ->classes(self::folder($folder))
                ->shouldNot()->dependOn()
                ->classes(Selector::inNamespace('Larder'))
                ->excluding(
                    self::folder($folder),
                    ...\array_map(self::folder(...), [...$allowed, ...self::BESIDE[$folder] ?? []]),
                    // The extension's own.
                    ...\array_map(Selector::classname(...), ['Larder\Segment', 'Larder\SegmentException']),
                )
                ->because('folders import in one direction: ' . self::class . '::ROWS');
        }
        $rows = \array_map(static fn(string $folder): string => \rtrim((string) \preg_replace('~^src/SymfonyBundle~', 'symfony-bundle/src', 'src/' . \strtr($folder, '\\', '/')), '/'), $above);
        foreach ([...self::folders('src'), ...self::folders('symfony-bundle/src')] as $folder) {
            if (!\in_array($folder, $rows, true)) {
                throw new \LogicException("$folder has no row: say which folders it may import.");
            }
        }
    }

    private static function folder(string $folder): SelectorInterface
    {
        return Selector::inNamespace('/^' . \preg_quote(\rtrim('Larder\\' . $folder, '\\')) . '$/', true);
    }

    /** @return iterable<string> that hold classes */
    private static function folders(string $path): iterable
    {
        if ((\glob(\dirname(__DIR__, 2) . "/$path/*.php") ?: []) !== []) {
            yield $path;
        }
        foreach (\glob(\dirname(__DIR__, 2) . "/$path/*", \GLOB_ONLYDIR) ?: [] as $folder) {
            yield from self::folders($path . '/' . \basename($folder));
        }
    }
}
