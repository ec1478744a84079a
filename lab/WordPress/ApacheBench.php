<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Command;

/** `ab`, Apache's benchmark: so many requests of one page, so many at a time. */
final class ApacheBench
{
    public static function need(): Need
    {
        return Need::program(['ab'], 'apache2-utils');
    }

    /** @return float pages a second */
    public static function pages(string $url, int $requests, int $atOnce): float
    {
        // -l: pages may differ in length.
        $run = Command::run([Need::find(['ab']) ?? 'ab', '-q', '-l', '-n', (string) $requests, '-c', (string) $atOnce, $url], 120.0);
        $figure = static fn(string $name): ?float => \preg_match("/^$name:\s+([\d.]+)/m", $run->output, $found) === 1 ? (float) $found[1] : null;
        $rate = $figure('Requests per second');
        if (!$run->succeeded || $rate === null || $rate <= 0.0 || $figure('Failed requests') !== 0.0 || $figure('Non-2xx responses') !== null) {
            throw new SiteFailure("ab does not get all pages of $url: " . \substr(\trim($run->errors . ' ' . (\preg_replace('/^.*?(?=Complete requests)/s', '', $run->output) ?? '')), 0, 300));
        }

        return $rate;
    }
}
