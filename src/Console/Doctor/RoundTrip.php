<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\InvalidConfiguration;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\System\WrongUser;

/** Checks the truth tier: whether it answers, whether it returns what was stored, and how long that takes. */
final class RoundTrip
{
    private const ROUNDS = 20;

    /**
     * @throws InvalidConfiguration|WrongUser
     */
    public static function finding(Place $place): Finding
    {
        $name = $place->options->truth->toString();
        if ($place->options->truth->scheme === 'memory') {
            return Finding::warn('truth tier', $name . ' ends with each process, and nothing is shared', 'Use a DSN that outlives the process, for example sqlite:///var/cache/app.');
        }
        $truth = $place->openTruth();
        $cache = $truth->group('larder-doctor', true);
        $key = \bin2hex(\random_bytes(8));
        $sets = $gets = [];
        $same = true;
        $end = \hrtime(true) + 1_000_000_000;
        for ($i = 0; $i < self::ROUNDS && $same && \hrtime(true) < $end; $i++) {
            $start = \hrtime(true);
            $same = $cache->set($key, $i, 60);
            $set = \hrtime(true);
            // Begin a new request, so that the value comes from the tier and not from this process.
            $truth->refresh();
            $begin = \hrtime(true);
            $same = $same && $cache->get($key) === $i;
            $gets[] = (\hrtime(true) - $begin) / 1e9;
            $sets[] = ($set - $start) / 1e9;
        }
        $cache->delete($key);
        $complaints = $place->complaints->take();
        if ($complaints !== []) {
            return Finding::fail('truth tier', \implode(' ', $complaints), self::fix($place));
        }
        if (!$same) {
            return Finding::fail('truth tier', $name . ' does not return what was stored', self::fix($place));
        }

        return Finding::ok('truth tier', \sprintf(
            '%s: set %s, get %s (median of %d)',
            $name === 'sqlite://' || $name === 'file://' ? $name . $place->directory : $name,
            Text::duration(Timing::median($sets)),
            Text::duration(Timing::median($gets)),
            \count($sets),
        ));
    }

    private static function fix(Place $place): string
    {
        $truth = $place->options->truth;

        return match (true) {
            $place->directory !== null && $truth === $place->options->disk => 'Check that ' . $place->directory . ' is on a local disk with free space, and that this user can write there.',
            $truth->path !== '' => 'Check that the server runs, that it listens on ' . $truth->path . ', and that this user may write to that socket (its group).',
            default => 'Check that the server runs and that ' . $truth->toString() . ' is its address and password; a slow network may need a longer ?timeout=' . 4 * $place->options->timeout . '.',
        };
    }
}
