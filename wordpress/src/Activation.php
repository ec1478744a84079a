<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions -- the code of an update is kept as PHP reads it: by its own user, each step atomic; WP_Filesystem may go by FTP, and does neither

namespace Larder\WordPress;

use Larder\Cache;
use Larder\System\WrongUser;

/**
 * The plugin comes and goes, and with it the drop-ins: that of the object cache, which all of the following is about, and that
 * of the page cache, which needs it.
 *
 * Whenever the drop-in comes back the cache is emptied first: while it was away the cache was not told what changed. So it
 * is taken away too while an update replaces the plugin's files, when it would do nothing, and is put back by a
 * request that runs the new code only.
 *
 * Requests that have begun with the old code go on while an update replaces it, and may need a class that they have not loaded
 * yet. So a copy of the old code stays beside for some minutes, which its own autoloader prefers.
 *
 * A drop-in of ours that another plugin has replaced is not put back by itself: two plugins that both did would do so for
 * ever. It is remembered who it was, and said.
 */
final class Activation
{
    /** Seconds after which an update that has not come to its end never will, and no request of before it goes on. */
    private const LONGEST = 300;

    /** In wp-content, before the build's name (autoload.php): the code that an update replaces. */
    public const BEFORE = '/larder-before-';

    public static function activate(): void
    {
        $problem = self::enable();
        // Whose cache is in the way is said, with the choice, as long as it is.
        if ($problem === '' || DropIn::here()->state() !== DropInState::Foreign) {
            self::tell($problem);
        }
        if ($problem !== '' && \defined('WP_CLI') && WP_CLI) {
            \WP_CLI::warning($problem);
        }
    }

    public static function deactivate(): void
    {
        \wp_clear_scheduled_hook(Plugin::UPDATED);
        self::disable();
    }

    /**
     * Empties the cache, tries it, and puts the drop-in in its place.
     *
     * @param bool $replace another plugin's too
     *
     * @return string '' it is done; else why not
     */
    public static function enable(bool $replace = false): string
    {
        self::expect();
        $dropIn = DropIn::here();
        $state = $dropIn->state();
        if ($state === DropInState::Foreign && !$replace) {
            return $dropIn->install();
        }
        $problem = SelfCheck::problem();
        if ($problem === '' && $state !== DropInState::Ours) {
            $problem = self::flush() ? $dropIn->install($replace) : \__('The cache could not be emptied.', 'larder');
        }
        if ($problem === '') {
            Notes::put(['on' => true, 'updating' => null]);
            DropIn::pages()->install();
        }

        return $problem;
    }

    /** @return string '' it is done; else why not */
    public static function disable(): string
    {
        self::expect();
        // First that which does nothing without the other.
        foreach ([DropIn::pages(), DropIn::here()] as $dropIn) {
            if (!$dropIn->remove()) {
                /* translators: %s: path of a file */
                return \sprintf(\__('Larder could not remove its drop-in. Delete %s.', 'larder'), $dropIn->target);
            }
        }
        Presence::closeFastDoor();
        Notes::put(['on' => null, 'updating' => null]);
        self::flush();

        return '';
    }

    /** A page of wp-admin begins: the drop-in is still there, and of this version? */
    public static function check(): void
    {
        if (\wp_doing_ajax()) {
            return;
        }
        Choices::follow();
        self::sweep(self::LONGEST);
        $dropIn = DropIn::here();
        switch ($dropIn->state()) {
            case DropInState::Outdated:
                $dropIn->install();
                break;
            case DropInState::Foreign:
                self::lost($dropIn->foreignName());
                break;
            case DropInState::Missing:
                $since = Notes::all()['updating'] ?? \PHP_INT_MAX;
                if ($since < \time() - self::LONGEST) {
                    self::renew();
                }
                break;
            case DropInState::Ours:
                $pages = DropIn::pages();
                \in_array($pages->state(), [DropInState::Missing, DropInState::Outdated], true) && $pages->install();
                break;
            default:
        }
    }

    /**
     * The files of a plugin are about to be replaced.
     *
     * @param mixed        $response passed on
     * @param array<mixed> $what
     */
    public static function updating(mixed $response, array $what): mixed
    {
        if (($what['plugin'] ?? '') === self::name()) {
            self::keep();
            if (DropIn::pages()->remove() && DropIn::here()->state()->isOurs() && DropIn::here()->remove()) {
                Notes::put(['updating' => \time()]);
            }
        }

        return $response;
    }

    /**
     * They have been. Classes of both versions could meet in this request, so the next one does what is to be done.
     *
     * @param mixed        $upgrader
     * @param array<mixed> $what
     */
    public static function updated(mixed $upgrader, array $what): void
    {
        if (($what['type'] ?? '') === 'plugin' && isset(Notes::all()['updating'])) {
            Notes::put(['updating' => 1]);
            \wp_schedule_single_event(\time(), Plugin::UPDATED);
            // Once more, when no request needs the old code any longer.
            \wp_schedule_single_event(\time() + 4 * self::LONGEST, Plugin::UPDATED);
        }
    }

    /** After an update: puts the drop-in back. */
    public static function renew(): void
    {
        self::sweep(self::LONGEST);
        if (isset(Notes::all()['updating'])) {
            $problem = self::enable();
            if ($problem !== '') {
                Notes::put(['updating' => null]);
                self::tell($problem);
            }
        }
    }

    /**
     * Removes the old code that updates have kept.
     *
     * @param int $age seconds that it stays
     */
    public static function sweep(int $age): void
    {
        foreach (\glob(\WP_CONTENT_DIR . self::BEFORE . '*') ?: [] as $folder) {
            (int) \filemtime($folder) <= \time() - $age && DataDirectory::remove($folder);
        }
    }

    private static function keep(): void
    {
        $plugin = \dirname(__DIR__);
        $build = self::build($plugin);
        if ($build !== '') {
            Quietly::call(static function () use ($plugin, $build): void {
                $folder = \WP_CONTENT_DIR . self::BEFORE . $build;
                // Whole, or not at all. By the plugin's own name, after which the drop-in looks for it.
                $new = $folder . '.' . \bin2hex(\random_bytes(6));
                // Requests of this build may be at it, after an update to the same one.
                \is_dir($folder) ? \touch($folder) : \mkdir($new) && self::copy($plugin, $new . '/' . \basename($plugin)) && \rename($new, $folder) || DataDirectory::remove($new);
            });
        }
    }

    /** What tells the plugin's files in a folder from those of another version; '' in the project that it is developed in. */
    private static function build(string $plugin): string
    {
        // Read, for OPcache may have what was there before.
        $list = Quietly::call(static fn(): string => (string) \file_get_contents("$plugin/classes.php"));

        return \preg_match("/'' => '(\w+)'/", $list, $match) === 1 ? $match[1] : '';
    }

    /** Whether an update has replaced the code in a folder since this request has begun, which goes on by its copy. */
    public static function isReplaced(string $plugin): bool
    {
        return \str_starts_with('/' . \basename(\dirname($plugin)), self::BEFORE) && self::build($plugin) !== self::build(\WP_PLUGIN_DIR . '/' . \basename($plugin));
    }

    private static function copy(string $from, string $to): bool
    {
        if (!\mkdir($to)) {
            return false;
        }
        foreach (\array_diff(\scandir($from) ?: [], ['.', '..', 'assets', 'languages']) as $name) {
            if (!(\is_dir("$from/$name") ? self::copy("$from/$name", "$to/$name") : \copy("$from/$name", "$to/$name"))) {
                return false;
            }
        }

        return true;
    }

    /** To an administrator, on the next page. */
    public static function tell(string $problem): void
    {
        $directory = Site::current()->directory();
        Notes::put(['notice' => $problem === '' ? [true, \trim((
            $directory === null
            ? \__('Larder is now the object cache of this site, and works.', 'larder')
            /* translators: %s: path of a directory */
            : \sprintf(\__('Larder is now the object cache of this site, and works. It keeps its data in %s.', 'larder'), $directory)
        ) . ' ' . self::line())] : [
            false,
            /* translators: %s: what went wrong, one or more sentences */
            \sprintf(\__('Larder is not the object cache of this site yet. %s', 'larder'), $problem),
        ]]);
    }

    /** What the page cache needs besides its drop-in; '' it has it. */
    public static function line(): string
    {
        return \defined('WP_CACHE') && WP_CACHE ? '' : \sprintf(
            /* translators: %s: a line of PHP */
            \__('To cache whole pages too, add this line to wp-config.php, above the line that says to stop editing: %s', 'larder'),
            "define('WP_CACHE', true);",
        );
    }

    private static function lost(string $name): void
    {
        $notes = Notes::all();
        if (isset($notes['on'])) {
            Notes::put(['on' => null, 'rival' => ['name' => $name, 'times' => ($notes['rival']['times'] ?? 0) + 1, 'at' => \time()]]);
        }
    }

    /** What root does without the drop-in must not be root's in the cache either. */
    private static function expect(): void
    {
        try {
            Owner::expect(Site::current()->directory() ?? '');
        } catch (WrongUser) {
            // The trial says it.
        }
    }

    private static function flush(): bool
    {
        try {
            return Owner::run(static fn(): bool => Cache::open(Site::current()->source())->flush());
        } catch (\Throwable) {
            return false;
        }
    }

    /** As WordPress names the plugin: its file, from the plugins' directory. */
    private static function name(): string
    {
        return \plugin_basename(\dirname(__DIR__) . '/larder.php');
    }
}
