<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions -- a drop-in is replaced in one step, with its owner and mode, while other requests load it; WP_Filesystem does not do that

namespace Larder\WordPress;

/**
 * A file of wp-content that WordPress loads before all plugins, object-cache.php or advanced-cache.php: whose it is, and how
 * ours comes there and goes.
 *
 * Another plugin's is replaced only where that was asked for. It is kept beside ours, under a name that no plugin can
 * guess and WordPress does not load, and is not put back by itself: what that plugin's cache still holds is from
 * before, and would be served as if it were of today.
 */
final readonly class DropIn
{
    /** Where WordPress looks for a file's header (get_file_data()). */
    private const HEADER = 8192;
    private const BACKUP = '.larder-backup-';
    /** Which the plugin's folder is called in the source. */
    private const FOLDER = 'larder';

    /**
     * @param string $source ours, in the plugin
     * @param string $target where WordPress loads it from
     * @param string $refusal why none may be put there by itself; '' it may
     * @param string $folder  the plugin's: its name, or its path where it does not lie among the plugins
     */
    public function __construct(private string $source, public string $target, private string $refusal = '', private string $folder = self::FOLDER) {}

    /** This site's object cache. */
    public static function here(): self
    {
        return self::of('object-cache.php');
    }

    /** This site's page cache. */
    public static function pages(): self
    {
        return self::of('advanced-cache.php');
    }

    private static function of(string $name): self
    {
        return new self(
            \dirname(__DIR__) . "/drop-ins/$name",
            WP_CONTENT_DIR . "/$name",
            \wp_is_file_mod_allowed('larder_drop_in') ? '' : \sprintf(
                /* translators: %s: name of a constant */
                \__('this site does not allow changes to its files from here (%s)', 'larder'),
                'DISALLOW_FILE_MODS',
            ),
            self::folder(),
        );
    }

    /** A zip from a repository has a folder of another name; and any folder may be a link to where the files are. */
    private static function folder(): string
    {
        $here = \dirname(__DIR__);
        if (\str_starts_with('/' . \basename(\dirname($here)), Activation::BEFORE)) {
            // Its copy, while an update goes on.
            return \basename($here);
        }
        $name = \dirname(\plugin_basename($here . '/larder.php'));

        return Quietly::call(static fn(): bool => \realpath(\WP_PLUGIN_DIR . '/' . $name) === \realpath($here)) ? $name : $here;
    }

    /** The plugin's folder, as PHP. */
    private function place(): string
    {
        // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_var_export -- writes PHP
        return $this->folder[0] === '/' ? \var_export($this->folder, true) : '$plugins . ' . \var_export('/' . $this->folder, true);
    }

    /** Ours, as it is to be in its place. */
    private function code(): string|false
    {
        $code = \file_get_contents($this->source);

        return $code === false ? false : \str_replace('$plugins . \'/' . self::FOLDER . '\'', $this->place(), $code);
    }

    public function state(): DropInState
    {
        return Quietly::call(function (): DropInState {
            \clearstatcache(true, $this->target);
            if (!\file_exists($this->target)) {
                return $this->refusal === '' && \is_writable(\dirname($this->target)) ? DropInState::Missing : DropInState::Unwritable;
            }
            $ours = $this->code();
            $there = \file_get_contents($this->target);

            return match (true) {
                $ours !== false && $there === $ours => DropInState::Ours,
                $ours !== false && $there !== false && self::name($there) === self::name($ours) => DropInState::Outdated,
                default => DropInState::Foreign,
            };
        });
    }

    /** What the other plugin calls itself in its drop-in's header; '' where the drop-in is not another's. */
    public function foreignName(): string
    {
        if ($this->state() !== DropInState::Foreign) {
            return '';
        }
        $name = self::name(Quietly::call(fn(): string => (string) \file_get_contents($this->target, length: self::HEADER)));

        return $name === '' ? \__('a plugin without a name', 'larder') : $name;
    }

    /** Where another's drop-in was put aside; '' there is none. */
    public function backup(): string
    {
        return $this->backups()[0] ?? '';
    }

    /**
     * Puts ours there: all of it or nothing.
     *
     * @param bool $replace another plugin's too
     *
     * @return string '' it is there; else why not, one sentence
     */
    public function install(bool $replace = false): string
    {
        if (Activation::isReplaced(\dirname(__DIR__))) {
            // The new code puts its own there.
            return '';
        }
        $state = $this->state();
        if ($state === DropInState::Ours) {
            return '';
        }
        if ($state === DropInState::Foreign && !$replace) {
            /* translators: 1: name of a plugin, 2: name of a file */
            return \sprintf(\__('%1$s already has its own %2$s on this site.', 'larder'), $this->foreignName(), \basename($this->target));
        }
        if ($this->refusal !== '') {
            return $this->cannot($this->refusal);
        }
        $reason = '';
        $done = Quietly::call(fn(): bool => ($state !== DropInState::Foreign || $this->putAside()) && $this->write(), $reason);
        self::forget($this->target);

        return $done ? '' : $this->cannot($reason);
    }

    /** Ours goes; another's stays. False: it is still there. */
    public function remove(): bool
    {
        if (!$this->state()->isOurs()) {
            return true;
        }
        $gone = Quietly::call(fn(): bool => \unlink($this->target));
        self::forget($this->target);

        return $gone;
    }

    /** What to do where this process cannot put it there. */
    public function advice(): string
    {
        return $this->cannot($this->refusal);
    }

    /** What may be wrong where it is there and WordPress has another object cache all the same. */
    public function idle(): string
    {
        return \sprintf(
            /* translators: 1: path of a file, 2: path of a directory */
            \__('%1$s is in place, but WordPress loaded another object cache before it, or it cannot find the plugin in %2$s: PHP could not read that folder during a request.', 'larder'),
            $this->target,
            $this->folder[0] === '/' ? $this->folder : \WP_PLUGIN_DIR . '/' . $this->folder,
        );
    }

    /** What install() put aside. */
    public function removeBackup(): void
    {
        foreach ($this->backups() as $file) {
            Quietly::call(static fn(): bool => \unlink($file));
        }
    }

    /** @return list<string> */
    private function backups(): array
    {
        $directory = \dirname($this->target);
        $found = [];
        foreach (Quietly::call(static fn(): array => \scandir($directory) ?: []) as $name) {
            if (\str_starts_with($name, \basename($this->target) . self::BACKUP)) {
                $found[] = $directory . '/' . $name;
            }
        }

        return $found;
    }

    private function write(): bool
    {
        $directory = \dirname($this->target);
        $new = $directory . '/.' . \basename($this->target, '.php') . '-' . \bin2hex(\random_bytes(6)) . '.php';
        $code = $this->code();
        if ($code === false) {
            return false;
        }
        // As readable as what lies beside it: the command line's umask is not the web's.
        $mode = \fileperms($directory . '/index.php') ?: \fileperms($this->source) ?: 0o644;
        if (\file_put_contents($new, $code) === \strlen($code) && \chmod($new, $mode & 0o666) && $this->give($new) && \rename($new, $this->target)) {
            return true;
        }
        \file_exists($new) && \unlink($new);

        return false;
    }

    /** What root writes is to be the site's, or its owner could not replace it. */
    private function give(string $file): bool
    {
        $directory = \dirname($this->target);

        return \fileowner($file) === \fileowner($directory) || \fileowner($file) !== 0
            || \chown($file, (int) \fileowner($directory)) && \chgrp($file, (int) \filegroup($directory));
    }

    private function putAside(): bool
    {
        $before = $this->backups();
        $file = $this->target . self::BACKUP . \bin2hex(\random_bytes(8));
        // It may hold another cache's password, and is no PHP to the web server any more.
        if (\is_link($this->target) ? !\rename($this->target, $file) : !\copy($this->target, $file) || !\chmod($file, 0o600)) {
            return false;
        }
        \array_map(\unlink(...), $before);

        return true;
    }

    private function cannot(string $reason): string
    {
        return \sprintf(
            /* translators: 1: reason, 2: path of a file, 3: path of a file */
            \__('Larder could not install its drop-in: %1$s. Copy %2$s to %3$s, or let the web server write there.', 'larder'),
            $reason === '' ? \__('PHP cannot write to the directory', 'larder') : $reason,
            $this->source,
            $this->target,
        ) . ($this->folder === self::FOLDER ? '' : ' ' . \sprintf(
            /* translators: 1: a piece of PHP, 2: what is to stand there instead */
            \__('In that copy, replace %1$s with %2$s.', 'larder'),
            '$plugins . \'/' . self::FOLDER . '\'',
            $this->place(),
        ));
    }

    private static function name(string $code): string
    {
        if (\preg_match('/^[ \t\/*#@]*Plugin Name:(.*)$/mi', \str_replace("\r", "\n", \substr($code, 0, self::HEADER)), $match) !== 1) {
            return '';
        }

        return \substr(\trim((string) \preg_replace('/\s*(?:\*\/|\?>).*/', '', $match[1])), 0, 80);
    }

    /** OPcache may go on with what was there until it looks again (opcache.revalidate_freq), or for ever. */
    private static function forget(string $file): void
    {
        Quietly::call(static fn(): bool => \function_exists('opcache_invalidate') && \opcache_invalidate($file, true));
        \clearstatcache(true, $file);
    }
}
