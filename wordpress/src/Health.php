<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Config\Options;
use Larder\Console\Doctor\Finding;
use Larder\Console\Doctor\Folder;
use Larder\Console\Doctor\Limits;
use Larder\Console\Doctor\Machine;
use Larder\Console\Doctor\RoundTrip;
use Larder\Console\Doctor\SharedMemory;
use Larder\Console\Support\Place;
use Larder\WordPress\Page\Counts;
use Larder\WordPress\Page\Settings;

/**
 * Site Health: what it tests, and what it tells of the cache under "Info".
 *
 * The doctor's findings are the library's, in English as on its command line.
 *
 * @phpstan-type Result array{label: string, status: string, badge: array{label: string, color: string}, description: string, actions: string, test: string}
 */
final class Health
{
    private const ROUTE = 'larder/v1';

    /** Of the doctor's subjects, those that say nothing about a cache without APCu. */
    private const APCU = ['apc.enabled', 'apc.enable_cli', 'apc.shm_size'];

    /**
     * @param array<string, array<string, mixed>> $tests
     *
     * @return array<string, array<string, mixed>>
     */
    public static function tests(array $tests): array
    {
        $direct = [
            'drop_in' => \__('Larder\'s drop-in', 'larder'),
            'works' => \__('Larder keeps what is stored', 'larder'),
            'machine' => \__('What Larder uses', 'larder'),
            'flushes' => \__('Flushes of the object cache', 'larder'),
            'pages' => \__('Larder\'s page cache', 'larder'),
        ];
        foreach ($direct as $name => $label) {
            $tests['direct']['larder_' . $name] = ['label' => $label, 'test' => static fn(): array => self::$name()];
        }
        $tests['async']['larder_privacy'] = [
            'label' => \__('Nobody can read Larder\'s data over the web', 'larder'),
            'test' => \rest_url(self::ROUTE . '/privacy'),
            'has_rest' => true,
            'async_direct_test' => [self::class, 'privacy'],
        ];

        return $tests;
    }

    /** The one test that asks the web server is a request of its own, as WordPress's own tests of that kind. */
    public static function routes(): void
    {
        \register_rest_route(self::ROUTE, '/privacy', [
            'methods' => 'GET',
            'callback' => [self::class, 'privacy'],
            'permission_callback' => static fn(): bool => \current_user_can('view_site_health_checks'),
        ]);
    }

    /** @return Result */
    public static function drop_in(): array
    {
        $dropIn = DropIn::here();
        $state = $dropIn->state();
        $rival = Notes::all()['rival'] ?? null;
        if ($rival !== null && $rival['times'] > 1 || $rival !== null && !$state->isOurs()) {
            return self::result(
                'drop_in',
                'critical',
                \__('Another plugin replaces Larder\'s drop-in', 'larder'),
                \sprintf(
                    /* translators: 1: name of a plugin, 2: how often, 3: date and time */
                    \__('%1$s has replaced Larder\'s object cache with its own (%2$d times, last on %3$s). WordPress can have only one, so deactivate one of the two.', 'larder'),
                    $rival['name'],
                    $rival['times'],
                    \wp_date('Y-m-d H:i', $rival['at']) ?: '?',
                ),
            );
        }

        if ($state === DropInState::Ours && self::cache() === null && !Site::isDisabled()) {
            return self::result('drop_in', 'critical', \__('Larder\'s drop-in is in place, but not in use', 'larder'), $dropIn->idle());
        }

        return match ($state) {
            DropInState::Ours => self::result('drop_in', 'good', \__('Larder\'s drop-in is in place', 'larder'), \__('WordPress loads Larder as its object cache.', 'larder')),
            DropInState::Outdated => self::result('drop_in', 'recommended', \__('Larder\'s drop-in has another version', 'larder'), $dropIn->advice()),
            DropInState::Foreign => self::result(
                'drop_in',
                'recommended',
                \__('Another plugin is the object cache', 'larder'),
                /* translators: %s: name of a plugin */
                \sprintf(\__('The object cache belongs to %s, so Larder does nothing. Choose Larder on the plugins\' page, or deactivate it.', 'larder'), $dropIn->foreignName()),
            ),
            DropInState::Missing => self::result('drop_in', 'recommended', \__('Larder\'s drop-in is not in place', 'larder'), \__('Larder is active, but does nothing. You can switch it on on the plugins\' page.', 'larder')),
            DropInState::Unwritable => self::result('drop_in', 'recommended', \__('Larder\'s drop-in is not in place', 'larder'), $dropIn->advice()),
        };
    }

    /** @return Result */
    public static function works(): array
    {
        $problem = self::problem() ?: SelfCheck::problem();

        return $problem === ''
            ? self::result('works', 'good', \__('Larder keeps what is stored', 'larder'), \__('Larder stored a value and read it back from its store.', 'larder'))
            : self::result('works', 'critical', \__('Larder keeps nothing beyond a request', 'larder'), $problem);
    }

    /** @return Result */
    public static function machine(): array
    {
        $worst = 'good';
        $lines = [];
        $apcu = self::options()?->near?->scheme === 'apcu';
        foreach (self::findings() as $finding) {
            if (\in_array($finding->level, ['warn', 'fail'], true) && ($apcu || !\in_array($finding->subject, self::APCU, true))) {
                $worst = $finding->level === 'fail' ? 'critical' : ($worst === 'good' ? 'recommended' : $worst);
                $lines[] = $finding->subject . ': ' . $finding->text . '. ' . self::fix($finding);
            }
        }

        return $lines === []
            ? self::result('machine', 'good', \__('Larder has what it needs', 'larder'), \__('Larder found no problem with PHP, the file system or the servers behind the cache.', 'larder'))
            : self::result('machine', $worst, \__('Larder could work better here', 'larder'), ...$lines);
    }

    /** @return Result */
    public static function flushes(): array
    {
        $lines = [];
        foreach (Owner::run(Flushes::offenders(...)) as $who => $times) {
            /* translators: 1: name of a plugin, "a command" or "WordPress", 2: how often */
            $lines[] = \sprintf(\__('%1$s has flushed the whole object cache %2$d times within a minute.', 'larder'), $who, $times);
        }

        return $lines === []
            ? self::result('flushes', 'good', \__('Nobody flushes the object cache all the time', 'larder'), \__('A cache that is emptied again and again is of no use.', 'larder'))
            : self::result('flushes', 'recommended', \__('The object cache is flushed all the time', 'larder'), ...[...$lines, \__('A cache that is emptied again and again is of no use. Ask the author of that plugin to delete only what has changed, or deactivate the plugin.', 'larder')]);
    }

    /** @return Result */
    public static function pages(): array
    {
        $problem = self::pagesProblem();
        if ($problem !== '') {
            // An owner who has another one, or has switched it off, has a reason.
            $isWanted = Settings::ofSite() !== null && DropIn::pages()->state() !== DropInState::Foreign;

            return self::result('pages', $isWanted ? 'recommended' : 'good', \__('Larder stores no pages', 'larder'), $problem);
        }
        $root = self::cache()?->larder();
        $failed = $root === null ? null : Owner::run(static fn(): ?array => FailedReads::reported(ObjectCache::records($root)));
        if ($failed !== null) {
            return self::result(
                'pages',
                'recommended',
                \__('A failing statement keeps pages from being stored', 'larder'),
                \__('In the last hour the database refused a statement while WordPress built a page. Something may be missing on such a page, so Larder stores neither the page nor what was computed for it.', 'larder'),
                /* translators: 1: a statement of SQL, 2: the database's error message */
                \sprintf(\__('The statement: %1$s. The error: %2$s', 'larder'), $failed[0], $failed[1]),
                \__('Search your plugins and your theme for this statement, and tell its author. Often a plugin has not created its tables: deactivate it and activate it again.', 'larder'),
            );
        }
        $counts = $root === null ? null : Owner::run(static fn(): array => Counts::sum(ObjectCache::records($root), 48));
        $answered = ($counts['hit'] ?? 0) + ($counts['stale'] ?? 0);

        return self::result('pages', 'good', \__('Larder stores pages', 'larder'), \sprintf(
            /* translators: 1: number of requests, 2: number of requests */
            \__('In the last 48 hours, stored pages answered about %1$s requests, and WordPress about %2$s.', 'larder'),
            \number_format_i18n($answered),
            \number_format_i18n(($counts['stored'] ?? 0) + ($counts['passed'] ?? 0)),
        ));
    }

    /** Why no pages are stored, with what to do; '' they are. */
    public static function pagesProblem(): string
    {
        $pages = DropIn::pages();
        $state = $pages->state();

        return match (true) {
            self::cache()?->larder() === null => \__('The page cache needs Larder as the object cache, for by it Larder knows what changes.', 'larder'),
            /* translators: %s: name of a plugin */
            $state === DropInState::Foreign => \sprintf(\__('The page cache belongs to %s. Deactivate that plugin, then open this page again.', 'larder'), $pages->foreignName()),
            !$state->isOurs() => $pages->advice(),
            Settings::ofSite() === null => Settings::fixed()[0]
                ? \__('The constant LARDER_PAGES switches the page cache off.', 'larder')
                : \__('The page cache is switched off in the settings of Larder.', 'larder'),
            default => Activation::line(),
        };
    }

    /** @return Result */
    public static function privacy(): array
    {
        $directory = Site::current()->directory() ?? '';

        return self::private($directory, ...($directory === '' ? ['', null] : Privacy::ask($directory)));
    }

    /**
     * As privacy(), by what the web server answered within the last hour: for a page that is not to wait for it each time.
     *
     * @return Result
     */
    public static function privacyOfLate(): array
    {
        $directory = Site::current()->directory() ?? '';
        $own = $directory === '' ? null : self::cache()?->larder();
        if ($own === null) {
            return self::private($directory, '', null);
        }
        $own = ObjectCache::records($own);
        $known = $own->get('privacy');
        if (!\is_array($known) || ($known[0] ?? '') !== $directory) {
            $known = [$directory, ...Privacy::ask($directory)];
            $own->set('privacy', $known, 3_600);
        }

        return self::private($directory, \is_string($known[1] ?? null) ? $known[1] : '', \is_bool($known[2] ?? null) ? $known[2] : null);
    }

    /**
     * @param string $url    where the web server was asked for a file of the directory; '' it serves none there
     * @param ?bool  $served whether it gave the file; null: not known
     *
     * @return Result
     */
    private static function private(string $directory, string $url, ?bool $served): array
    {
        if ($served === true) {
            return self::result(
                'privacy',
                // The found one's name cannot be guessed.
                \preg_match(DataDirectory::NAME, $directory) === 1 ? 'recommended' : 'critical',
                \__('The web server exposes Larder\'s data', 'larder'),
                /* translators: %s: address */
                \sprintf(\__('Anybody who knows the address can read a file in the cache\'s directory: %s.', 'larder'), $url),
                /* translators: %s: example of a line of PHP */
                \sprintf(\__('In wp-config.php, choose a directory that the web server does not serve: %s', 'larder'), "define('LARDER_DIRECTORY', '/var/cache/larder-site');"),
                /* translators: %s: example of a line of configuration */
                \sprintf(\__('Or tell the web server not to serve it. For nginx: %s', 'larder'), 'location ~ "/larder-[0-9a-f]{24}/" { deny all; }'),
            );
        }
        $label = \__('Nobody can read Larder\'s data over the web', 'larder');
        if ($url === '') {
            return self::result('privacy', 'good', $label, \__('The data is in a directory that the web server does not serve.', 'larder'));
        }

        return $served === false
            ? self::result('privacy', 'good', $label, \__('Site Health asked the web server for a file in the cache\'s directory, and the web server refused.', 'larder'))
            : self::result('privacy', 'recommended', \__('Larder could not check whether its data can be read over the web', 'larder'), \__('The site could not send a request to itself.', 'larder'));
    }

    /** @return list<Finding> the library's doctor on this site: it looks and tries, for up to two seconds */
    public static function findings(): array
    {
        return Owner::run(static fn(): array => Quietly::call(static function (): array {
            $found = [];
            try {
                $place = Place::choose(Site::current()->source());
                foreach ([
                    static fn() => Machine::findings($place->options),
                    static fn() => $place->directory === null ? [] : Folder::findings($place->directory, $place->options),
                    static fn() => Limits::findings($place->options),
                    static fn() => SharedMemory::findings($place->options),
                    static fn() => [RoundTrip::finding($place)],
                ] as $look) {
                    foreach ($look() as $finding) {
                        $found[] = $finding;
                    }
                }
            } catch (\Throwable $failure) {
                $found[] = Finding::fail('cache', $failure->getMessage(), 'Fix that first.');
            }

            return $found;
        }));
    }

    /**
     * @param array<string, array<string, mixed>> $sections
     *
     * @return array<string, array<string, mixed>>
     */
    public static function information(array $sections): array
    {
        $dropIn = DropIn::here();
        $directory = Site::current()->directory();
        $problem = self::problem();
        $fields = [
            'version' => self::field(\__('Version', 'larder'), \get_file_data(\dirname(__DIR__) . '/larder.php', ['Version'])[0] ?? '?'),
            'drop_in' => self::field(\__('Drop-in', 'larder'), \trim($dropIn->state()->value . ' ' . $dropIn->foreignName())),
            'persistent' => self::field(\__('Persistent', 'larder'), $problem === '' ? \__('yes', 'larder') : $problem, $problem !== ''),
        ];
        if ($directory !== null) {
            $fields['directory'] = self::field(\__('Directory', 'larder'), $directory === '' ? \__('could not be created', 'larder') : $directory, true);
        }
        foreach (Owner::run(static fn(): array => self::cache()?->larder()?->stats() ?? []) as $tier => $stats) {
            if (isset($stats['engine'], $stats['entries'], $stats['bytes'])) {
                /* translators: 1: name of an engine, 2: number of entries, 3: size with its unit */
                $text = \sprintf(\__('%1$s, %2$s entries, %3$s', 'larder'), $stats['engine'], \number_format_i18n((int) $stats['entries']), \size_format((int) $stats['bytes']) ?: '0 B');
                /* translators: %s: name of a tier */
                $fields['tier_' . $tier] = self::field(\sprintf(\__('Tier "%s"', 'larder'), $tier), $text);
            }
        }
        foreach (self::findings() as $number => $finding) {
            $fields['doctor_' . $number] = self::field(
                $finding->subject,
                \trim((\in_array($finding->level, ['ok', 'note'], true) ? '' : \strtoupper($finding->level) . ': ') . $finding->text . ($finding->fix === '' ? '' : '. ' . self::fix($finding))),
                true,
            );
        }
        $sections['larder'] = ['label' => \__('Larder', 'larder'), 'fields' => $fields];

        return $sections;
    }

    /** As wp-config.php has it, where the library tells its own users to set a DSN. */
    private static function fix(Finding $finding): string
    {
        $line = "in wp-config.php: define('LARDER_DIRECTORY', '/var/cache/larder-site');";

        return \strtr($finding->fix, \array_fill_keys(['LARDER_DSN=sqlite:///var/cache/app.', 'LARDER_DSN=sqlite:///var/cache/app;', 'LARDER_DSN=sqlite:///var/cache/app'], $line));
    }

    private static function cache(): ?ObjectCache
    {
        $cache = $GLOBALS['wp_object_cache'] ?? null;

        return $cache instanceof ObjectCache ? $cache : null;
    }

    private static function problem(): string
    {
        $cache = self::cache();

        return match (true) {
            $cache !== null => $cache->problem(),
            DropIn::here()->state() === DropInState::Ours && !Site::isDisabled() => DropIn::here()->idle(),
            default => \__('Larder is not the object cache of this request.', 'larder'),
        };
    }

    private static function options(): ?Options
    {
        try {
            return Options::from(Site::current()->source());
        } catch (\Throwable) {
            return null;
        }
    }

    /** @return array{label: string, value: string, private: bool} */
    private static function field(string $label, string $value, bool $private = false): array
    {
        return ['label' => $label, 'value' => $value, 'private' => $private];
    }

    /** @return Result */
    private static function result(string $test, string $status, string $label, string ...$paragraphs): array
    {
        return [
            'label' => $label,
            'status' => $status,
            'badge' => ['label' => $test === 'privacy' ? \__('Security', 'larder') : \__('Performance', 'larder'), 'color' => 'blue'],
            'description' => '<p>' . \implode('</p><p>', \array_map(esc_html(...), $paragraphs)) . '</p>',
            'actions' => '',
            'test' => 'larder_' . $test,
        ];
    }
}
