<?php

declare(strict_types=1);

// The first picture of a report as a file of its own, for the docs: php lab/picture.php REPORT.json PICTURE.svg

use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\Rank;
use Larder\Lab\Report\Svg;

require __DIR__ . '/../vendor/autoload.php';

[, $report, $picture] = $argv + ['', '', ''];
$rank = new Rank((new JsonReader())->read($report));
$group = $rank->groups($rank->scenarios()[0] ?? '')[0] ?? [];
file_put_contents($picture, Svg::bars('picture', $rank->title($group), $group, $rank, true) . "\n");
