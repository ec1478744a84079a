<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\Console\Support\Text;
use Larder\System\ServerPolicy;

/** Says what the server's policy takes away from what is configured, and what is wrong with its file. */
final class Limits
{
    /** @return iterable<Finding> */
    public static function findings(Options $options, ServerPolicy $policy = new ServerPolicy()): iterable
    {
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
