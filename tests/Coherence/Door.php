<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Cache;
use Larder\Codec\Codec;
use Larder\Codec\EntrySigner;
use Larder\Config\Assembly;
use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\Config\StoreFactory;
use Larder\Near\ApcuNear;
use Larder\Near\SegmentNear;
use Larder\Request\Intents;
use Larder\Request\Request;
use Larder\Request\Space;
use Larder\Request\Truth;
use Larder\Store\OutageGuard;
use Larder\Store\PendingInvalidations;
use Larder\Store\Store;
use Larder\System\Coroutine;
use Larder\System\FailureLog;

/**
 * Opens the cache as one process of the experiment sees it, with the tiers at hand.
 *
 * Over one SQLite directory that is what Cache::open() does. Over a far tier each "server" of the experiment has a
 * directory of its own, which the configuration does not offer (it is the user's), so the tiers are put together
 * here; and so they are where the journal is to be switched off.
 */
final class Door
{
    /** Of its caches: items in one, and counters in another. */
    public const PREFIX = 'items';
    public const COUNTERS = 'counters';

    private function __construct(public readonly Request $tiers, public readonly Cache $cache) {}

    public static function open(Settings $settings, string $prefix = self::PREFIX): self
    {
        $source = ['dsn' => $settings->dsn, 'prefix' => $prefix, 'timeout' => $settings->timeout, 'lease' => 3.0, 'near' => $settings->near];
        if ($settings->journal && \preg_match('/^(sqlite|file):/m', "$settings->dsn\n$settings->near") === 1) {
            return self::over(...Assembly::build($source));
        }
        $options = Options::from($source);
        $files = $settings->directory . '/' . $prefix;
        $make = static function () use ($options, $settings): Store {
            $store = StoreFactory::make($options->truth, $options);

            return $settings->journal ? $store : new DeafStore($store);
        };
        $guard = new OutageGuard($settings->dsn, $make(), $make, new FailureLog(null), new PendingInvalidations($files . '.kept'));
        $truth = new Truth($guard, \bin2hex(\random_bytes(6)));
        $codec = Codec::create(null, null);
        $near = match ($options->near?->scheme) {
            'apcu' => new ApcuNear($prefix, $files . '.lock', $options->nearBudget),
            'segment' => new SegmentNear(SegmentPlace::open($options->near, $options->nearBudget), $prefix, $codec),
            default => null,
        };

        return self::over(
            new Request($truth, $near, new EntrySigner(null), $codec, (int) ($options->lease * 1000), $settings->dsn),
            new Space(),
        );
    }

    private static function over(Request $tiers, Space $space): self
    {
        $make = \Closure::bind(static fn(Request $tiers, Space $space): Cache => new Cache($tiers, $space), null, Cache::class);

        return new self($tiers, $make($tiers, $space));
    }

    /** Of the fiber that runs. */
    public function request(): Request
    {
        $coroutine = Coroutine::current();

        return $coroutine === null ? $this->tiers : $this->tiers->of($coroutine);
    }

    /** For the diary: what this request knows of the journal, and whether it reads from near tiers. */
    public function view(): string
    {
        $view = $this->request()->view;

        return "V {$view->history->epoch} {$view->history->seen} {$view->history->token} " . ($view->nearReadable ? 'near' : 'no-near');
    }

    /** Whether the store was reached, and this request's intent stands on the key. */
    public static function hasIntent(Request $request, string $key): bool
    {
        $standing = \Closure::bind(static fn(Intents $intents): array => $intents->standing, null, Intents::class);

        // One that the store could not take is noted as well.
        return isset($standing($request->intents())[$key]) && $request->intents()->isTold($key);
    }
}
