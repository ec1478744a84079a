<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\Page\Files\Tree;

/**
 * Purges and expires pages, everywhere: in the cache, among the web server's files, and in the caches in front of this server.
 *
 * A purge is visible once its tag's marker has moved. Copies outside the cache compare themselves with the purge counter, which
 * moves with each marker (Store\PurgeCounters).
 */
final class Purge
{
    /** Most tags that the cache invalidates in one call. */
    private const AT_ONCE = 1_000;

    /** The web server's own copies of pages; null: there are none, or they were not asked for yet. */
    private ?Tree $tree = null;

    /**
     * @param Cache                 $shared the pages' group in the application's request, so that what a transaction purges counts from its COMMIT on
     * @param \Closure(): PageNotes $notes
     */
    public function __construct(private readonly Cache $shared, private readonly \Closure $notes, private readonly ?Settings $settings) {}

    public function tree(): ?Tree
    {
        $files = $this->settings?->files;

        return $files === null ? null : $this->tree ??= new Tree($this->shared, $files->directory);
    }

    /** Tells caches in front of this server which tags' pages to remove. */
    private function tellProxies(string ...$tags): bool
    {
        return $this->settings?->proxies === null || $this->settings->proxies->remove(\array_values($tags));
    }

    /** Removes all pages. */
    public function all(): bool
    {
        $done = $this->shared->flush();
        FastDoor::doubtOthers($this->shared);

        return $done && $this->follow() && $this->tellProxies(Proxies::ALL);
    }

    /**
     * The tags of a URL: its own, and that of all that a No-Vary-Search rule makes of it.
     *
     * @param string $url as RequestKey::url() gives it; without scheme and host it means every host
     *
     * @return list<string>
     */
    public function tagsOf(string $url): array
    {
        $rule = ($this->notes)()->search(\explode('?', $url, 2)[0]);

        return $rule === null ? [Tags::url($url)] : [Tags::url($url), Tags::url($rule->url($url))];
    }

    /**
     * Removes the pages with any of these tags.
     *
     * @param list<string> $tags
     */
    public function remove(array $tags): bool
    {
        $done = $this->invalidate($tags);

        return $this->tellProxies(...$tags) && $done;
    }

    /**
     * Expires them: the next request renews each.
     *
     * @param list<string> $tags
     */
    public function expire(array $tags): bool
    {
        $done = $this->invalidate(\array_map(Tags::ofStamp(...), $tags));

        return $this->tellProxies(...$tags) && $done;
    }

    /** @param list<string> $tags */
    private function invalidate(array $tags): bool
    {
        $done = true;
        foreach (\array_chunk($tags, self::AT_ONCE) as $some) {
            $done = $this->shared->invalidateTags(...$some) && $done;
            $done = $this->follow(\array_slice($this->shared->internals()->journalled('p', ...$some), 1, \count($some))) && $done;
        }
        // A site may still answer from copies of the cache that it opened before this one.
        FastDoor::doubtOthers($this->shared);

        return $done;
    }

    /**
     * Takes from the web server's files what has changed. A page that has not, its next request puts there again.
     *
     * @param list<string> $names that the journal may not have yet
     */
    public function follow(array $names = []): bool
    {
        $trees = \array_column(Tree::noted($this->shared), null, 'directory');
        $tree = $this->tree();
        if ($tree !== null) {
            $trees[$tree->directory] = $tree;
        }

        return !\in_array(false, \array_map(static fn(Tree $tree): bool => $tree->follow($names), $trees), true);
    }
}
