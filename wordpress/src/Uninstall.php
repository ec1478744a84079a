<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;
use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\Config\StoreFactory;
use Larder\Store\Redis\RedisStore;

/**
 * The plugin is deleted: whatever it has made goes, wherever this process reaches it.
 *
 * What stays: on a Memcached server values that cannot be read any more, until they are evicted, since it has no list of
 * a prefix's keys; the segment's file, which all caches of this user share, without its content.
 */
final class Uninstall
{
    public static function run(): void
    {
        DropIn::pages()->remove();
        $dropIn = DropIn::here();
        $dropIn->remove();
        $dropIn->removeBackup();
        Presence::remove(Site::current());
        Notes::remove();
        Choices::remove();
        Activation::sweep(0);
        \wp_clear_scheduled_hook(Plugin::UPDATED);
        $directory = Site::current()->directory() ?? '';
        $directory === '' || Owner::expect($directory);
        Presence::closeFastDoor();
        foreach ([self::flush(...), self::memory(...), self::queue(...), self::far(...)] as $step) {
            Owner::run(static fn() => self::step($step));
        }
        // Where it lies may be root's.
        self::step(self::files(...));
    }

    /** @param \Closure(Site, Options): void $step */
    private static function step(\Closure $step): void
    {
        // What is not there any more, or was never reached, must not keep the rest.
        Quietly::call(static function () use ($step): void {
            try {
                $site = Site::current();
                $step($site, Options::from($site->source()));
            } catch (\Throwable) {
            }
        });
    }

    /** First: a process that still has a front door open, or a server that cannot be reached from here, is to find nothing. */
    private static function flush(Site $site, Options $options): void
    {
        if ($site->directory() !== '') {
            Cache::open($site->source())->flush();
        }
    }

    /** The near tier's: copies, of which each cache makes new ones. */
    private static function memory(Site $site, Options $options): void
    {
        if (\function_exists('apcu_enabled') && \apcu_enabled()) {
            $prefix = \preg_quote($options->prefix . ':' . StoreFactory::mark($options), '/');
            \apcu_delete(new \APCUIterator('/^' . $prefix . '/', \APC_ITER_KEY));
        }
        if ($options->near?->scheme === 'segment') {
            SegmentPlace::open($options->near, $options->nearBudget)->flush();
        }
    }

    private static function queue(Site $site, Options $options): void
    {
        $directory = $site->directory() ?? '';
        $directory === '' ? Background::queue()?->purge() : DataDirectory::remove("$directory/queue");
    }

    private static function far(Site $site, Options $options): void
    {
        $store = $options->far === null ? null : StoreFactory::make($options->far, $options);
        if ($store instanceof RedisStore) {
            $store->erase();
        }
    }

    private static function files(Site $site, Options $options): void
    {
        if ($options->disk === null) {
            // The user's own directory, which is not this site's alone.
            foreach (['kept-', 'near-', 'local-'] as $kind) {
                foreach (\glob(StoreFactory::runtime($options) . '/' . $kind . StoreFactory::mark($options) . '*') ?: [] as $file) {
                    // phpcs:ignore WordPress.WP.AlternativeFunctions.unlink_unlink -- outside of WordPress, where its filters have no say
                    \is_dir($file) ? DataDirectory::remove($file) : \unlink($file);
                }
            }
        } else {
            // The prefix's own; what its owner has named may hold more than that.
            DataDirectory::remove(StoreFactory::directory($options->disk, $options));
        }
        foreach ($site->directories() as $directory) {
            DataDirectory::remove($directory);
        }
    }
}
