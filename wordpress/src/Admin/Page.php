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

/** The page of a site (Tools) or of a network (Settings): figures, findings, contents, and what can be flushed. */
final readonly class Page
{
    private const HOURS = 48;

    /** Flushes on the page; wp larder flushes shows more. */
    private const FLUSHES = 20;

    /** In the address: 'time' sorts the keys by the time of a read, all else by size. */
    private const SORT = 'larder-sort';

    public function __construct(private ?ObjectCache $cache, private bool $network) {}

    public function render(): void
    {
        echo '<div class="wrap larder"><h1>', \esc_html__('Larder', 'larder'), '</h1><hr class="wp-header-end">';
        foreach (\array_filter([Flush::notice(), Settings::notice()]) as $notice) {
            echo '<div class="notice notice-', $notice[0], ' is-dismissible"><p>', \esc_html($notice[1]), '</p></div>';
        }
        $root = $this->cache?->larder();
        if ($this->cache === null || $root === null) {
            $this->notInUse();
            $this->findings();
        } else {
            $contents = Contents::look($root->entries(), \is_multisite() && !$this->network ? (string) \get_current_blog_id() : null);
            $this->state($root, $contents);
            $this->findings();
            $this->figures(new Figures(Statistics::hours(ObjectCache::records($root), self::HOURS)));
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

    private function figures(Figures $figures): void
    {
        $this->heading('figures', \__('The last 48 hours', 'larder'));
        if ($figures->requests === 0) {
            echo '<p>', \esc_html__('Nothing has been counted yet. Larder counts one request in 16, so figures appear after some page views.', 'larder'), '</p>';

            return;
        }
        if (\is_multisite()) {
            echo '<p>', \esc_html__('These are the figures of all sites of this network together.', 'larder'), '</p>';
        }
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
        $this->chart($figures);
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

    /** The chart is drawn by the script, out of the table, which stays for whoever would rather read. */
    private function chart(Figures $figures): void
    {
        $about = \__('Reads by hour: how many each tier answered, and how many found nothing. The table below has the same figures.', 'larder');
        echo '<div class="larder-chart" hidden><div class="larder-plot" dir="ltr" role="img" tabindex="0" aria-label="', \esc_attr($about), '"></div>',
        '<div class="larder-keys" role="group" aria-label="', \esc_attr__('What the chart shows', 'larder'), '"></div>',
        '<output class="larder-reading" aria-live="polite">', \esc_html__('Point at an hour, or move through them with the arrow keys.', 'larder'), '</output></div>';
        echo '<details class="larder-hours" open><summary>', \esc_html__('The figures of each hour as a table', 'larder'), '</summary>';
        $this->openTable(\__('Reads by hour', 'larder'));
        echo '<thead><tr>', self::head(\__('Hour', 'larder'), false), self::head(\__('Requests', 'larder'));
        echo self::head(\__('Answered in the request', 'larder'), true, ' data-series="request"');
        foreach ($figures->tiers as $tier) {
            /* translators: %s: a tier of the cache, as: Disk */
            echo self::head(\sprintf(\__('%s: hits', 'larder'), Text::tier($tier)), true, ' data-series="' . \esc_attr($tier) . '"');
            /* translators: %s: a tier of the cache, as: Disk */
            echo self::head(\sprintf(\__('%s: misses', 'larder'), Text::tier($tier)));
        }
        echo self::head(\__('Not found', 'larder'), true, ' data-series="misses"'), self::head(\__('Hit rate', 'larder'), true, ' data-series="ratio"'), '</tr></thead><tbody>';
        foreach ($figures->hours as $row) {
            $at = Text::time('time_format', $row['hour']);
            $day = Text::time('date_format', $row['hour']);
            $clock = (int) \wp_date('G', $row['hour']);
            echo '<tr data-clock="', $clock, '" data-label="', \esc_attr($clock === 0 ? (string) \wp_date('j M', $row['hour']) : $at), '">',
            '<th scope="row">', \esc_html($day . ' ' . $at), '</th>', self::cell($row['requests']), self::cell($figures->within($row));
            foreach ($figures->tiers as $tier) {
                echo self::cell($row['tiers'][$tier]['hits'] ?? 0), self::cell($row['tiers'][$tier]['misses'] ?? 0);
            }
            $kept = $figures->below($row);
            echo self::cell($row['misses']),
            '<td class="larder-number" data-value="', $kept + $row['misses'] === 0 ? '' : \sprintf('%.2F', $kept / ($kept + $row['misses']) * 100), '">', \esc_html(Text::percentage($kept, $row['misses'])), '</td></tr>';
        }
        echo "</tbody></table></div></details>\n";
    }

    /** What Site Health tests too. What is good needs no reading. */
    private function findings(): void
    {
        if (!\current_user_can('view_site_health_checks')) {
            return;
        }
        $levels = ['critical' => \__('Critical', 'larder'), 'recommended' => \__('Recommended', 'larder'), 'good' => \__('Good', 'larder')];
        $good = $bad = '';
        foreach ([Health::drop_in(), Health::works(), Health::privacyOfLate(), Health::machine(), Health::flushes(), Health::pages()] as ['status' => $status, 'label' => $label, 'description' => $description]) {
            $item = '<li class="larder-' . \esc_attr($status) . '"><strong>' . \esc_html($label) . '</strong> <span class="larder-level">' . \esc_html($levels[$status] ?? $status) . '</span>' . \wp_kses_post($description) . '</li>';
            $status === 'good' ? $good .= $item : $bad .= $item;
        }
        $this->heading('findings', \__('Findings', 'larder'));
        echo $bad === '' ? '' : "<ul class=\"larder-findings\">$bad</ul>";
        echo $good === '' ? '' : '<details class="larder-passed"><summary>' . \esc_html__('What is good', 'larder') . "</summary><ul class=\"larder-findings\">$good</ul></details>";
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
        echo '</dl><div class="larder-flushes">', $this->network
            ? Flush::form('network', \__('Flush all sites', 'larder'), '', true)
            : Flush::form('site', \__('Flush this site', 'larder'), '', true);
        if ($pages === '') {
            echo $this->network
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
            echo Flush::form('address', \__('Purge this address', 'larder'), '<label for="larder-address">' . \esc_html__('Address of a page', 'larder') . '</label> '
                . '<input type="text" id="larder-address" name="address" required placeholder="/about/" autocomplete="off" spellcheck="false" dir="ltr"> ');
        }
        $field = '<label for="larder-group">' . \esc_html__('Group', 'larder') . '</label> '
            . '<input type="text" id="larder-group" name="group" list="larder-group-names" required autocomplete="off" spellcheck="false" dir="ltr"><datalist id="larder-group-names">';
        foreach (\array_unique(\array_column($contents->groups, 'group')) as $group) {
            $field .= '<option value="' . \esc_attr($group) . '">';
        }
        echo Flush::form('group', \__('Flush this group', 'larder'), $field . '</datalist> '), "</div>\n";
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
        echo '<p>', \esc_html($this->amount($contents)), ' ', $contents->complete ? '' : \esc_html__('This is a sample: the cache holds more than Larder can list while you wait.', 'larder'), '</p>';
        if ($contents->groups === []) {
            return;
        }
        $this->openTable(\__('Groups, the largest first', 'larder'));
        echo '<thead><tr>', self::head(\__('Group', 'larder'), false), $this->network ? self::head(\__('Site', 'larder'), false) : '', self::head(\__('Entries', 'larder')), self::head(\__('Size', 'larder')), '<th scope="col" class="larder-share">', \esc_html__('Share', 'larder'), '</th></tr></thead><tbody>';
        foreach (\array_slice($contents->groups, 0, 50) as $group) {
            echo '<tr><th scope="row" dir="ltr">', \esc_html(Text::line($group['group'])), '</th>', $this->network ? '<td>' . \esc_html(self::site($group['site'])) . '</td>' : '',
            self::cell($group['entries']), self::cell($group['bytes'], Text::bytes($group['bytes'])),
            '<td class="larder-share"><meter min="0" max="', \max(1, $contents->bytes), '" value="', $group['bytes'], '">', \esc_html(Text::percentage($group['bytes'], $contents->bytes - $group['bytes'])), '</meter></td></tr>';
        }
        echo "</tbody></table></div>\n";
    }

    private function keys(Contents $contents, ObjectCache $cache): void
    {
        if ($contents->keys === []) {
            return;
        }
        $this->heading('keys', \__('The largest keys, and how long a read of each takes', 'larder'));
        $times = $contents->timed($cache, \is_multisite() ? (string) \get_current_blog_id() : '');
        $byTime = ($_GET[self::SORT] ?? '') === 'time';
        if ($byTime) {
            \arsort($times);
        }
        // By size they come as they are.
        $order = $byTime ? \array_keys($times + $contents->keys) : \array_keys($contents->keys);
        $this->openTable(\__('Largest keys', 'larder'), ' larder-stacked');
        [$group, $site, $size, $read, $age, $expires] = [\__('Group', 'larder'), \__('Site', 'larder'), \__('Size', 'larder'), \__('Read', 'larder'), \__('Age', 'larder'), \__('Expires in', 'larder')];
        echo '<thead><tr>', self::head(\__('Key', 'larder'), false), self::head($group, false), $this->network ? self::head($site, false) : '',
        $this->sorting('size', $size, !$byTime), $this->sorting('time', $read, $byTime), self::head($age, false), self::head($expires, false), '</tr></thead><tbody>';
        foreach ($order as $i) {
            $key = $contents->keys[$i];
            echo '<tr><th scope="row" dir="ltr">', \esc_html(Text::line($key['key'])), '</th><td dir="ltr"', self::label($group), '>', \esc_html(Text::line($key['group'])), '</td>', $this->network ? '<td' . self::label($site) . '>' . \esc_html(self::site($key['site'])) . '</td>' : '',
            '<td class="larder-number" data-value="', $key['size'], '"', self::label($size), '>', \esc_html(Text::bytes($key['size'])), '</td><td class="larder-number"', self::label($read), '>', isset($times[$i]) ? \esc_html(Text::duration($times[$i])) : '–', '</td>',
            '<td class="larder-span"', self::label($age), '>', \esc_html(Text::span($key['age'])), '</td><td class="larder-span"', self::label($expires), '>', \esc_html(Text::span($key['ttl'])), '</td></tr>';
        }
        echo "</tbody></table></div>\n";
    }

    private function flushes(Cache $root): void
    {
        $flushes = \array_slice(Flushes::last($root), 0, self::FLUSHES);
        if ($flushes === []) {
            return;
        }
        $this->heading('flushes', \__('Who has flushed', 'larder'));
        $this->openTable(\__('The last flushes, the last one first', 'larder'), ' larder-stacked');
        [$group, $site, $caller, $request, $user] = [\__('Group', 'larder'), \__('Site', 'larder'), \__('Code', 'larder'), \__('Address or command', 'larder'), \__('User of the server', 'larder')];
        echo '<thead><tr>', self::head(\__('Time', 'larder'), false), self::head($group, false), $this->network ? self::head($site, false) : '', self::head($caller, false), self::head($request, false), self::head($user, false), '</tr></thead><tbody>';
        foreach ($flushes as $flush) {
            echo '<tr><th scope="row">', \esc_html(Text::time('date_format', $flush['time']) . ' ' . Text::time('time_format', $flush['time'])), '</th><td', self::label($group), '>', \esc_html($flush['group'] === '' ? \__('everything', 'larder') : Text::line($flush['group'])), '</td>',
            $this->network ? '<td' . self::label($site) . '>' . \esc_html($flush['site'] === '' ? \__('all sites', 'larder') : self::site($flush['site'])) . '</td>' : '';
            foreach ([$caller => $flush['caller'], $request => $flush['request'], $user => $flush['user']] as $label => $text) {
                echo '<td dir="ltr"', self::label($label), '>', \esc_html(Text::line($text)), '</td>';
            }
            echo '</tr>';
        }
        echo "</tbody></table></div>\n";
    }

    private function heading(string $id, string $text): void
    {
        echo '<h2 id="larder-', $id, '">', \esc_html($text), '</h2>';
    }

    /** A table that is wider than a phone is moved by itself, by keyboard too; the page stays where it is. */
    private function openTable(string $caption, string $class = ''): void
    {
        echo '<div class="larder-table', $class, '" role="region" tabindex="0" aria-label="', \esc_attr($caption), '"><table class="widefat striped"><caption class="screen-reader-text">', \esc_html($caption), '</caption>';
    }

    private function sorting(string $by, string $label, bool $sorted): string
    {
        return '<th scope="col" class="larder-number"' . ($sorted ? ' aria-sort="descending"' : '') . '><a href="' . \esc_url(\add_query_arg(self::SORT, $by, Admin::url($this->network)) . '#larder-keys') . '">'
            . \esc_html($label) . ($sorted ? ' <span aria-hidden="true">▾</span>' : '') . '</a></th>';
    }

    private static function head(string $label, bool $number = true, string $attributes = ''): string
    {
        return '<th scope="col"' . ($number ? ' class="larder-number"' : '') . $attributes . '>' . \esc_html($label) . '</th>';
    }

    /** Of a cell that stands below its row's head on a narrow screen. */
    private static function label(string $label): string
    {
        return ' data-label="' . \esc_attr($label) . '"';
    }

    private static function cell(int $value, ?string $text = null): string
    {
        return '<td class="larder-number" data-value="' . $value . '">' . \esc_html($text ?? Text::number($value)) . '</td>';
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
