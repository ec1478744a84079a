<?php

declare(strict_types=1);

namespace Larder\WordPress;

/**
 * What the plugin remembers of its drop-in, in one option of the network.
 *
 *     on        ours was put there, and it was not asked to be taken away
 *     notice    what is to be said once to an administrator: whether it went well, and the text
 *     rival     who has replaced ours: name, how often, when last (Unix time)
 *     updating  the plugin is being replaced since (Unix time; 1: it has been), and ours was taken away meanwhile
 *
 * @phpstan-type Rival array{name: string, times: int, at: int}
 * @phpstan-type All array{on?: bool, notice?: array{bool, string}, rival?: Rival, updating?: int}
 */
final class Notes
{
    private const OPTION = 'larder';

    /** @return All */
    public static function all(): array
    {
        $notes = \get_site_option(self::OPTION, []);

        /** @var All */
        return \is_array($notes) ? $notes : [];
    }

    /** @param array<string, mixed> $notes null takes one away */
    public static function put(array $notes): void
    {
        $before = self::all();
        $now = \array_filter($notes + $before, static fn(mixed $note): bool => $note !== null);
        if ($now !== $before) {
            \update_site_option(self::OPTION, $now);
        }
    }

    public static function remove(): void
    {
        \delete_site_option(self::OPTION);
    }
}
