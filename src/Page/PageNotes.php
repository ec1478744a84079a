<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\Page\Http\NoVarySearch;

/**
 * What is noted of pages and of the site. In `page-notes` lie
 *
 *     x  by a part of the key's hash, with all of the hash: a mark, that the page was private, uncacheable or failing last
 *        time, so no request waits for it
 *     t  the same: why the store did not take the page last time, although another one may be taken
 *     n  by path and not by key: the last No-Vary-Search rule of a response
 *     o  by origin: the owner's options and what the web server tells PHP of itself, for the command line; and without one,
 *        of which origins there are some
 *
 * Nothing that lies there is trusted to be what this class wrote.
 */
final readonly class PageNotes
{
    /** Seconds that a list of field names, a rule or an option is kept. */
    public const KEPT = 86_400;

    /** Seconds that no request waits for a page that could not be stored. */
    public const UNSTORED = 60;

    /** Pages that are known at the same time not to be stored: a flood of them takes no more room. */
    private const MARKS = 1_024;

    /** Origins whose options are noted: a visitor may make up hosts. */
    private const ORIGINS = 256;

    public function __construct(private Cache $notes) {}

    /** Why the page could not be stored last time; null: nothing is known against it. */
    public function mark(string $key): ?string
    {
        return $this->reason('x', $key);
    }

    public function setMark(string $key, string $reason): void
    {
        $this->setReason('x', $key, $reason);
    }

    public function removeMark(string $key): void
    {
        $this->mark($key) === null || $this->notes->delete(self::slot('x', $key));
    }

    /** Why the store did not take the page last time; null: nothing is known. It says nothing about the next time. */
    public function refusal(string $key): ?string
    {
        return $this->reason('t', $key);
    }

    /** @param string $reason that store() gave */
    public function setRefusal(string $key, string $reason): void
    {
        // One that is too large will be so again, so no request waits for it.
        $this->setReason($reason === Pages::TOO_LARGE ? 'x' : 't', $key, $reason);
    }

    private function reason(string $sort, string $key): ?string
    {
        $there = $this->notes->get(self::slot($sort, $key));

        return \is_array($there) && ($there[0] ?? null) === \hash('xxh128', $key) && \is_string($there[1] ?? null) ? $there[1] : null;
    }

    private function setReason(string $sort, string $key, string $reason): void
    {
        $this->notes->set(self::slot($sort, $key), [\hash('xxh128', $key), $reason], self::UNSTORED);
    }

    /** Of two pages that get one, the last one has it: visitors of the other wait once more. */
    private static function slot(string $sort, string $key): string
    {
        return $sort . \hexdec(\hash('xxh32', $key)) % self::MARKS;
    }

    /** The rule that the last response with one had, of all URLs with this path. */
    public function search(string $path): ?NoVarySearch
    {
        $text = $this->notes->get("n$path");

        return \is_string($text) ? NoVarySearch::fromText($text) : null;
    }

    public function setSearch(string $path, NoVarySearch $rule): void
    {
        $this->notes->set("n$path", $rule->text(), self::KEPT);
    }

    /**
     * The options with which the last page of an origin was made: the command line has no others.
     *
     * @return array<array-key, mixed>
     */
    public function options(string $origin): array
    {
        $options = $this->noted($origin)['options'] ?? [];

        return \is_array($options) ? $options : [];
    }

    /** Whether the web has made a page with this cache, as far as it has noted. */
    public function isUsed(): bool
    {
        return $this->origins() !== [];
    }

    /**
     * As what the web server has told PHP the last request of an origin: the host as the visitor has spelled it, and the
     * server's own port and name.
     *
     * @return array<string, string> by the names of CGI (RFC 3875)
     */
    public function server(string $origin): array
    {
        $server = $this->noted($origin)['server'] ?? [];

        return \array_filter(\is_array($server) ? $server : [], static fn(mixed $value, int|string $name): bool => \is_string($value) && \is_string($name), \ARRAY_FILTER_USE_BOTH);
    }

    /** @return array<array-key, mixed> */
    private function noted(string $origin): array
    {
        $noted = $this->notes->get("o$origin");

        return \is_array($noted) ? $noted : [];
    }

    /** @return list<string> the origins that options are noted of, the last one first */
    public function origins(): array
    {
        $origins = $this->notes->get('o');

        return \is_array($origins) ? \array_values(\array_filter($origins, \is_string(...))) : [];
    }

    /**
     * @param array<array-key, mixed> $options
     * @param array<string, string>   $server  as server() gives it
     */
    public function noteOptions(string $origin, array $options, array $server): void
    {
        $noted = ['options' => $options, 'server' => $server];
        if ($this->noted($origin) === $noted) {
            return;
        }
        $origins = [$origin, ...\array_diff($this->origins(), [$origin])];
        $gone = \array_splice($origins, self::ORIGINS);
        $this->notes->setMultiple(["o$origin" => $noted, 'o' => $origins], self::KEPT);
        $gone === [] || $this->notes->deleteMultiple(\array_map(static fn(string $origin): string => "o$origin", $gone));
    }
}
