<?php

declare(strict_types=1);

namespace Larder\Tests\Metrics;

/** Reads what OpenMetrics says. */
final class Exposition
{
    /** @return array<string, float> by name and labels */
    public static function samples(string $text): array
    {
        $samples = [];
        foreach (\explode("\n", $text) as $line) {
            if ($line !== '' && $line[0] !== '#') {
                $at = (int) \strrpos($line, ' ');
                $samples[\substr($line, 0, $at)] = (float) \substr($line, $at + 1);
            }
        }

        return $samples;
    }

    /** @return array<array-key, array<string, array<string, int>>> by group, tier and result */
    public static function gets(string $text): array
    {
        $gets = [];
        foreach (self::samples($text) as $name => $value) {
            if (\preg_match('/^larder_gets_total\{group="(.*)",tier="(\w+)",result="(\w+)"\}$/', $name, $found) === 1) {
                $gets[$found[1]][$found[2]][$found[3]] = (int) $value;
            }
        }

        return $gets;
    }
}
