<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Again;
use Larder\Lab\Subject\WordPressSubjects;
use Larder\Lab\WordPress\Choice;
use Larder\Lab\WordPress\OfficeTask;
use Larder\Lab\WordPress\PagesTask;
use Larder\Lab\WordPress\RestartTask;
use Larder\Lab\WordPress\Stage;

/**
 * Page 75 of 1,350 products, in a plain theme and in the one that WordPress comes with: pages a second, and what each
 * takes of the object cache, the database and the processor. And the first page after a restart, wp-admin's list, and
 * WordPress's start on the command line.
 */
final readonly class Catalog extends Scenario
{
    public const NAME = 'catalog';

    /** Requests of ab at once. */
    private const AT_ONCE = [2, 10];

    private const THEMES = ['plain', 'theme'];

    public function __construct(private Choice $choice, private Stage $stage) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'page 75 of 1,350 products in WordPress: pages a second, time inside the object cache, queries; first page after a restart; wp-admin; command line',
            'WordPress: a catalogue',
            first: 'theme/cached',
            sideBySide: true,
            payloads: [
                'plain' => 'page in a plain theme', 'theme' => 'page in the usual theme', 'first' => 'first page, SQL queries',
                'list' => 'the list of posts in wp-admin', 'shell' => 'WordPress on the command line',
                'plain-visits' => 'pages in a plain theme', 'theme-visits' => 'pages in the usual theme',
            ],
            populations: ['plain-visits', 'theme-visits'],
            operations: [
                'cached' => '%s: inside the object cache', 'page' => '%s', 'pages' => '%s: pages a second', 'start' => 'start of %s',
                'latency' => '%s: latency at a fixed rate', 'cpu' => '%s: processor time', 'queries' => '%s: SQL queries', 'reads' => '%s: keys read',
                'trips' => '%s: round trips', 'below' => '%s: calls of tiers', 'warm' => '%s: before a restart', 'restarted' => '%s: after a restart', 'rebooted' => '%s: after a reboot',
            ],
            columns: [
                'cached' => 'in wp_cache_*', 'queries' => 'SQL queries', 'reads' => 'keys read', 'trips' => 'round trips',
                'below' => 'calls below', 'cpu' => 'CPU', 'restarted' => 'after a restart', 'rebooted' => 'after a reboot',
            ],
        );
    }

    public function subjects(): array
    {
        return \array_map(static fn(Subject $subject): Subject => $subject->with(needs: [...$subject->needs, Need::program(['ab'], 'apache2-utils')]), WordPressSubjects::all($this->choice));
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $every = $scope->level === Scope::EVERY;
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach (self::THEMES as $theme) {
                $sides = self::page($subject, $theme);
                $tasks[] = $task = new PagesTask($this->stage, self::NAME . "/$subject->name/$theme", $sides, $every ? 3 : 2, $every ? 2 : 1);
                if ($theme === 'plain' && $subject->name === WordPressSubjects::DEFAULT) {
                    \array_push($tasks, ...Again::of($task, $theme, 'cached'));
                }
            }
            // What Redis keeps over a reboot is a matter of its configuration.
            $firsts = $subject->service === null ? ['warm', 'restarted', 'rebooted'] : ['warm', 'restarted'];
            $tasks[] = new RestartTask($this->stage, self::NAME . "/$subject->name/first", \array_map(static fn(string $operation): Side => Side::of(self::NAME, $subject, 'first', $operation, 1, Cell::COUNT), $firsts));
            $tasks[] = new OfficeTask($this->stage, self::NAME . "/$subject->name/office", [
                Side::of(self::NAME, $subject, 'list', 'page'),
                Side::of(self::NAME, $subject, 'list', 'cached'),
                Side::of(self::NAME, $subject, 'list', 'queries', 1, Cell::COUNT),
                Side::of(self::NAME, $subject, 'shell', 'start'),
            ]);
        }

        return $tasks;
    }

    /**
     * WordPress without a drop-in. Numbers are compared with nothing, as there may be none of them; and neither is the
     * latency, because each subject has its own rate.
     */
    public function base(Cell $cell): ?string
    {
        return $cell->subject === WordPressSubjects::NONE || $cell->unit === Cell::COUNT || $cell->operation === 'latency' ? null : $cell->idOf(WordPressSubjects::NONE);
    }

    public function promises(array $cells): array
    {
        return WordPressSubjects::promises($this->subjects(), \array_values(\array_filter(
            $cells,
            static fn(Cell $cell): bool => $cell->scenario === self::NAME && $cell->operation === 'cached' && \in_array($cell->payload, self::THEMES, true),
        )));
    }

    public function remarks(array $results): array
    {
        $remarks = [
            'Catalogue: time inside wp_cache_* is that of all functions of this name, and of the start of the object cache with the drop-in\'s loading. What the watch costs is subtracted. What a drop-in does in its own hooks and shutdown functions is not in it. CPU: of php-fpm, MariaDB and Redis together, while ab asks two at once.',
            \sprintf('Catalogue: %d workers of php-fpm. "Reboot": php-fpm starts again, and what was in APCu and in the segment is gone. A machine that really restarts has another boot id, and Larder over SQLite then starts cold on purpose, because its last writes may not have reached the disk.', Stage::WORKERS),
            'Catalogue: requests leave at fixed moments, whether or not earlier ones have come back. There are half as many a second as ab had with ten at once. Latency counts from the planned moment.',
            'Catalogue: round trips are reads by the Redis server, as it counts them, including the end of the connection; calls below are Larder\'s calls of its tiers.',
        ];
        $firsts = [];
        foreach ($results as $result) {
            if ($result->cell->scenario === self::NAME && $result->cell->payload === 'first') {
                $firsts[$result->cell->subject][$result->cell->operation] = $result->summary->median;
            }
        }
        $more = \array_filter($firsts, static fn(array $first): bool => isset($first['warm']) && \max($first) > $first['warm']);
        if ($firsts !== []) {
            $remarks[] = 'Catalogue: the first page after a restart or a reboot makes more SQL queries than before it '
                . ($more === [] ? 'with none of the subjects.' : 'with ' . \implode(', ', \array_keys($more)) . '.');
        }

        return $remarks;
    }

    /** @return non-empty-list<Side> */
    private static function page(Subject $subject, string $theme): array
    {
        $sides = [Side::of(self::NAME, $subject, $theme, 'cached')];
        foreach (['queries', 'reads', ...$subject->service === null ? [] : ['trips'], ...$subject->isLarder() ? ['below'] : []] as $count) {
            $sides[] = Side::of(self::NAME, $subject, $theme, $count, 1, Cell::COUNT);
        }
        foreach (self::AT_ONCE as $atOnce) {
            $sides[] = Side::of(self::NAME, $subject, $theme, 'pages', $atOnce, Cell::PER_SECOND);
        }
        $sides[] = Side::of(self::NAME, $subject, "$theme-visits", 'latency');
        $sides[] = Side::of(self::NAME, $subject, $theme, 'cpu', self::AT_ONCE[0]);

        return $sides;
    }
}
