<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\Console\Support\Text;
use Larder\System\ServerPolicy;

/** Says what the kernel's and the server's limits take away from what is configured, and what is wrong with the server's file. */
final class Limits
{
    /** @return iterable<Finding> */
    public static function findings(Options $options, ServerPolicy $policy = new ServerPolicy()): iterable
    {
        $largest = \function_exists('posix_getrlimit') ? (\posix_getrlimit() ?: [])['soft filesize'] ?? null : null;
        if (\is_int($largest) && $options->disk !== null && $largest < $options->budget) {
            yield Finding::fail(
                'file size',
                'a file may have ' . Text::bytes($largest) . ' here, and the cache may take ' . Text::bytes($options->budget) . ': the kernel ends a process of PHP that writes beyond the limit (SIGXFSZ)',
                'Raise the limit (ulimit -f, LimitFSIZE= of the service), or give the cache a budget well below it: ?budget=' . \max(1, \intdiv($largest, 2 << 20)) . 'M',
            );
        }
        if ($policy->isHidden()) {
            yield Finding::note('policy', "PHP may not see $policy->file (open_basedir): if this server has one, nothing of it holds here before open_basedir names " . \dirname($policy->file) . '/');

            return;
        }
        [$limits, $wrong] = $policy->read();
        foreach ($wrong as $line) {
            yield Finding::fail('policy', Text::line($line, 400), 'Correct it as root.');
        }
        foreach ($limits as $key => $most) {
            $asked = match ($key) {
                'disk' => $options->disk === null ? null : $options->budget,
                'segment' => $options->near?->scheme === 'segment' ? SegmentPlace::bytes($options->near, $options->nearBudget) : null,
                default => null,
            };
            yield Finding::note("policy, $key", "$policy->file allows " . ServerPolicy::KEYS[$key] . ' ' . Text::bytes($most) . ' at most'
                . ($asked === null ? '' : ': asked for were ' . Text::bytes($asked) . ', given are ' . Text::bytes(\min($asked, $most))));
        }
    }
}
