<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\Cache;
use Larder\WordPress\Flushes;
use Larder\WordPress\Health;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Owner;
use Larder\WordPress\Page\Counts;
use Larder\WordPress\Site;
use Larder\WordPress\Statistics;

/**
 * The page of a site (Tools) or of a network (Settings): figures, findings, contents, and what can be flushed.
 *
 * @phpstan-import-type Row from Statistics
 */
final readonly class Page
{
    private const HOURS = 48;

    /** Of the time line: a week. */
    private const WEEK = 168;

    /** Flushes on the page; wp larder flushes shows more. */
    private const FLUSHES = 20;

    /** In the address: 'time' sorts the keys by the time of a read, all else by size. */
    private const SORT = 'larder-sort';

    public function __construct(private ?ObjectCache $cache, private bool $network) {}

    public function render(): void
    {
        echo '<div class="wrap larder"><h1>', \esc_html__('Larder', 'larder'), '</h1><hr class="wp-header-end">';
        foreach (\array_filter([Flush::notice(), Settings::notice()]) as $notice) {
            echo '<div class="notice notice-', \esc_attr($notice[0]), ' is-dismissible"><p>', \esc_html($notice[1]), '</p></div>';
        }
        $root = $this->cache?->larder();
        if ($this->cache === null || $root === null) {
            $this->notInUse();
            $this->findings();
        } else {
            $contents = Contents::look($root->entries(), \is_multisite() && !$this->network ? (string) \get_current_blog_id() : null);
            $this->state($root, $contents);
            $this->findings();
            $this->figures(Statistics::hours(ObjectCache::records($root), self::WEEK));
            (new Pages(Counts::sum(ObjectCache::records($root), self::HOURS)))->render();
            // What counts for all sites is chosen for all.
            $this->network === \is_multisite() && Settings::render();
            $this->network || $this->parts($contents);
            $this->groups($contents);
            $this->keys($contents, $this->cache);
            // They name addresses of all sites.
            $this->network === \is_multisite() && $this->flushes($root);
        }
        echo "</div>\n";
    }

    private function notInUse(): void
    {
        $problem = $this->cache?->problem() ?? '';
        echo '<div class="notice notice-warning inline"><p><strong>', \esc_html__('No persistent cache is in use.', 'larder'), '</strong> ',
        \esc_html($problem !== '' ? $problem : \__('Site Health says what is missing.', 'larder')),
        ' <a href="', \esc_url(\admin_url('site-health.php')), '">', \esc_html__('Site Health', 'larder'), "</a></p></div>\n";
    }

    /** @param list<Row> $week */
    private function figures(array $week): void
    {
        $figures = new Figures(\array_slice($week, -self::HOURS));
        $all = new Figures($week);
        $this->heading('figures', \__('The last 48 hours', 'larder'));
        if ($all->requests === 0) {
            echo '<p>', \esc_html__('Nothing has been counted yet. Larder counts one request in 16, so figures appear after some page views.', 'larder'), '</p>';

            return;
        }
        if (\is_multisite()) {
            echo '<p>', \esc_html__('These are the figures of all sites of this network together.', 'larder'), '</p>';
        }
        if ($figures->requests === 0) {
            echo '<p>', \esc_html__('Nothing was counted in these hours.', 'larder'), '</p>';
        } else {
            $this->tiles($figures);
        }
        $this->heading('timeline', \__('The last seven days', 'larder'));
        (new Timeline($all))->render();
    }

    private function tiles(Figures $figures): void
    {
        $query = self::query();
        $saved = $figures->saved($query);
        echo '<dl class="larder-tiles">';
        $this->tile(\__('Reads answered', 'larder'), Text::percentage($figures->hits, $figures->misses), \sprintf(
            /* translators: 1: number of reads, 2: number of requests */
            \__('of %1$s reads in %2$s requests', 'larder'),
            Text::number($figures->hits + $figures->misses),
            Text::number($figures->requests),
        ));
        $this->tile(\__('Kept from earlier requests', 'larder'), Text::number($figures->kept / $figures->requests, 1), \sprintf(
            /* translators: %s: percentage */
            \__('reads per request; the cache answered %s of those that the request\'s own copies could not', 'larder'),
            Text::percentage($figures->kept, $figures->misses),
        ));
        $this->tile(\__('Time in the store', 'larder'), Text::duration($figures->seconds / $figures->requests), \sprintf(
            /* translators: %s: number of times the store was asked */
            \__('per request, with %s round trips', 'larder'),
            Text::number($figures->roundTrips / $figures->requests, 1),
        ));
        $this->tile(\__('Database time saved', 'larder'), Text::duration($saved / $figures->requests), \sprintf(
            /* translators: %s: time with its unit */
            \__('per request; %s in total (estimate)', 'larder'),
            Text::duration($saved),
        ));
        echo '</dl>';
        echo '<p class="description">', \esc_html(\sprintf(
            /* translators: %s: time with its unit */
            \__('Larder counts one request in 16 and multiplies by 16. The time saved is an estimate: each read kept from earlier requests counts as one look-up of a row in the database, which takes %s now, minus the time in the store. The estimate leaves out what a plugin computes beyond such a look-up, and counts too much where WordPress reads many values at once.', 'larder'),
            Text::duration($query),
        )), "</p>\n";
    }

    private function tile(string $label, string $figure, string $about): void
    {
        echo '<div><dt>', \esc_html($label), '</dt><dd><strong><bdi>', \esc_html($figure), '</bdi></strong> ', \esc_html($about), '</dd></div>';
    }

    /** What Site Health tests too. What is good needs no reading. */
    private function findings(): void
    {
        if (!\current_user_can('view_site_health_checks')) {
            return;
        }
        $levels = ['critical' => \__('Critical', 'larder'), 'recommended' => \__('Recommended', 'larder'), 'good' => \__('Good', 'larder')];
        $items = ['bad' => [], 'good' => []];
        foreach ([Health::drop_in(), Health::works(), Health::privacyOfLate(), Health::machine(), Health::flushes(), Health::pages()] as $finding) {
            $items[$finding['status'] === 'good' ? 'good' : 'bad'][] = $finding;
        }
        $this->heading('findings', \__('Findings', 'larder'));
        foreach (\array_filter($items) as $kind => $findings) {
            if ($kind === 'good') {
                echo '<details class="larder-passed"><summary>', \esc_html__('What is good', 'larder'), '</summary>';
            }
            echo '<ul class="larder-findings">';
            foreach ($findings as ['status' => $status, 'label' => $label, 'description' => $description]) {
                echo '<li class="', \esc_attr("larder-$status"), '"><strong>', \esc_html($label), '</strong> <span class="larder-level">', \esc_html($levels[$status] ?? $status), '</span>', \wp_kses_post($description), '</li>';
            }
            echo $kind === 'good' ? '</ul></details>' : '</ul>';
        }
        echo '<p><a href="', \esc_url(\admin_url('site-health.php?tab=debug')), '">', \esc_html__('Everything that was checked', 'larder'), "</a></p>\n";
    }

    /** What an owner looks for first: whether it works, what is where, and the buttons that empty it. */
    private function state(Cache $root, Contents $contents): void
    {
        $works = Health::works();
        $pages = Health::pagesProblem();
        $stores = [];
        foreach (Owner::run(static fn(): array => $root->stats()) as $tier => $stats) {
            if (isset($stats['engine'], $stats['bytes']) && $tier !== 'request') {
                $stores[] = "$stats[engine], " . Text::bytes((int) $stats['bytes']);
            }
        }
        $rows = [
            \__('Object cache', 'larder') => $works['label'],
            \__('Page cache', 'larder') => $pages === '' ? \__('Larder stores pages', 'larder') : \__('Larder stores no pages', 'larder'),
            \__('Store', 'larder') => \implode('; ', $stores),
            Site::current()->directory() === null ? \__('Server', 'larder') : \__('Directory', 'larder') => Site::current()->describe(),
            \__('Contents', 'larder') => $this->amount($contents),
        ];
        echo '<div class="larder-state larder-', \esc_attr($works['status']), '"><dl>';
        foreach ($rows as $label => $text) {
            echo '<div><dt>', \esc_html($label), '</dt><dd>', \esc_html($text), '</dd></div>';
        }
        echo '</dl><div class="larder-flushes">';
        $this->network
            ? Flush::form('network', \__('Flush all sites', 'larder'), isMain: true)
            : Flush::form('site', \__('Flush this site', 'larder'), isMain: true);
        if ($pages === '') {
            $this->network
                ? Flush::form('all-pages', \__('Empty the pages of all sites', 'larder'))
                : Flush::form('pages', \__('Empty the pages of this site', 'larder'));
        }
        echo '</div><p>', \esc_html__('You lose only speed: WordPress reads the flushed values from the database again.', 'larder'), "</p></div>\n";
    }

    private function parts(Contents $contents): void
    {
        $this->heading('flush', \__('Flush a part', 'larder'));
        echo '<div class="larder-flushes">';
        if (Health::pagesProblem() === '') {
            Flush::form('address', \__('Purge this address', 'larder'), static function (): void {
                echo '<label for="larder-address">', \esc_html__('Address of a page', 'larder'), '</label> ',
                '<input type="text" id="larder-address" name="address" required placeholder="/about/" autocomplete="off" spellcheck="false" dir="ltr"> ';
            });
        }
        Flush::form('group', \__('Flush this group', 'larder'), static function () use ($contents): void {
            echo '<label for="larder-group">', \esc_html__('Group', 'larder'), '</label> ',
            '<input type="text" id="larder-group" name="group" list="larder-group-names" required autocomplete="off" spellcheck="false" dir="ltr"><datalist id="larder-group-names">';
            foreach (\array_unique(\array_column($contents->groups, 'group')) as $group) {
                echo '<option value="', \esc_attr($group), '">';
            }
            echo '</datalist> ';
        });
        echo "</div>\n";
    }

    private function amount(Contents $contents): string
    {
        return \sprintf(
            /* translators: 1: number of entries, 2: size with its unit */
            \_n('%1$s entry, %2$s.', '%1$s entries, %2$s.', $contents->entries, 'larder'),
            Text::number($contents->entries),
            Text::bytes($contents->bytes),
        );
    }

    private function groups(Contents $contents): void
    {
        $this->heading('groups', \__('What the cache holds', 'larder'));
        echo '<p>', \esc_html($this->amount($contents) . ' ' . ($contents->complete ? '' : \__('This is a sample: the cache holds more than Larder can list while you wait.', 'larder'))), '</p>';
        if ($contents->groups === []) {
            return;
        }
        Table::open(\__('Groups, the largest first', 'larder'));
        Table::heads([\__('Group', 'larder')], ...$this->network ? [[\__('Site', 'larder')]] : [], ...[[\__('Entries', 'larder'), 'larder-number'], [\__('Size', 'larder'), 'larder-number'], [\__('Share', 'larder'), 'larder-share']]);
        foreach (\array_slice($contents->groups, 0, 50) as $group) {
            Table::row(Text::line($group['group']), true);
            $this->network && Table::text(self::site($group['site']));
            Table::number($group['entries']);
            Table::number($group['bytes'], Text::bytes($group['bytes']));
            echo '<td class="larder-share"><meter min="0" max="', (int) \max(1, $contents->bytes), '" value="', (int) $group['bytes'], '">', \esc_html(Text::percentage($group['bytes'], $contents->bytes - $group['bytes'])), '</meter></td>';
            Table::endRow();
        }
        Table::close();
    }

    private function keys(Contents $contents, ObjectCache $cache): void
    {
        if ($contents->keys === []) {
            return;
        }
        $this->heading('keys', \__('The largest keys, and how long a read of each takes', 'larder'));
        $times = $contents->timed($cache, \is_multisite() ? (string) \get_current_blog_id() : '');
        // phpcs:ignore WordPress.Security.NonceVerification, WordPress.Security.ValidatedSanitizedInput -- chooses an order, changes nothing
        $byTime = ($_GET[self::SORT] ?? '') === 'time';
        if ($byTime) {
            \arsort($times);
        }
        // By size they come as they are.
        $order = $byTime ? \array_keys($times + $contents->keys) : \array_keys($contents->keys);
        Table::open(\__('Largest keys', 'larder'), 'larder-stacked');
        [$group, $site, $size, $read, $age, $expires] = [\__('Group', 'larder'), \__('Site', 'larder'), \__('Size', 'larder'), \__('Read', 'larder'), \__('Age', 'larder'), \__('Expires in', 'larder')];
        echo '<thead><tr>';
        Table::head(\__('Key', 'larder'));
        Table::head($group);
        $this->network && Table::head($site);
        $this->sorting('size', $size, !$byTime);
        $this->sorting('time', $read, $byTime);
        Table::head($age);
        Table::head($expires);
        Table::body();
        foreach ($order as $i) {
            $key = $contents->keys[$i];
            Table::row(Text::line($key['key']), true);
            Table::text(Text::line($key['group']), $group, isCode: true);
            $this->network && Table::text(self::site($key['site']), $site);
            Table::number($key['size'], Text::bytes($key['size']), $size);
            Table::text(isset($times[$i]) ? Text::duration($times[$i]) : '–', $read, 'larder-number');
            Table::text(Text::span($key['age']), $age, 'larder-span');
            Table::text(Text::span($key['ttl']), $expires, 'larder-span');
            Table::endRow();
        }
        Table::close();
    }

    private function flushes(Cache $root): void
    {
        $flushes = \array_slice(Flushes::last($root), 0, self::FLUSHES);
        if ($flushes === []) {
            return;
        }
        $this->heading('flushes', \__('Who has flushed', 'larder'));
        Table::open(\__('The last flushes, the last one first', 'larder'), 'larder-stacked');
        [$group, $site, $caller, $request, $user] = [\__('Group', 'larder'), \__('Site', 'larder'), \__('Code', 'larder'), \__('Address or command', 'larder'), \__('User of the server', 'larder')];
        Table::heads([\__('Time', 'larder')], [$group], ...$this->network ? [[$site]] : [], ...[[$caller], [$request], [$user]]);
        foreach ($flushes as $flush) {
            Table::row(Text::time('date_format', $flush['time']) . ' ' . Text::time('time_format', $flush['time']));
            Table::text($flush['group'] === '' ? \__('everything', 'larder') : Text::line($flush['group']), $group);
            $this->network && Table::text($flush['site'] === '' ? \__('all sites', 'larder') : self::site($flush['site']), $site);
            foreach ([$caller => $flush['caller'], $request => $flush['request'], $user => $flush['user']] as $label => $text) {
                Table::text(Text::line($text), $label, isCode: true);
            }
            Table::endRow();
        }
        Table::close();
    }

    private function heading(string $id, string $text): void
    {
        echo '<h2 id="', \esc_attr("larder-$id"), '">', \esc_html($text), '</h2>';
    }

    private function sorting(string $by, string $label, bool $isSorted): void
    {
        echo '<th scope="col" class="larder-number" aria-sort="', \esc_attr($isSorted ? 'descending' : 'none'), '"><a href="', \esc_url(\add_query_arg(self::SORT, $by, Admin::url($this->network)) . '#larder-keys'), '">',
        \esc_html($label), ' <span aria-hidden="true">', \esc_html($isSorted ? '▾' : ''), '</span></a></th>';
    }

    private static function site(string $site): string
    {
        return $site === Contents::GLOBAL ? \__('all sites', 'larder') : (string) (\get_blog_details((int) $site)->blogname ?? $site);
    }

    /** Seconds of one look-up of a row in the database now: the median of five. */
    private static function query(): float
    {
        $database = $GLOBALS['wpdb'] ?? null;
        if (!$database instanceof \wpdb) {
            return 0.0;
        }
        $times = [];
        for ($i = 0; $i < 5; $i++) {
            $start = \hrtime(true);
            $database->get_var("SELECT option_value FROM $database->options WHERE option_name = 'siteurl'");
            $times[] = \hrtime(true) - $start;
        }
        \sort($times);

        return $times[2] / 1e9;
    }
}
