<?php

declare(strict_types=1);

// The first picture of a report as a file of its own, for the docs: php lab/picture.php REPORT.json PICTURE.svg
// Of a report of every combination it shows what one machine does in requests of ten keys, without TCP: a page's height.

use Larder\Lab\Plan\Cell;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\Rank;
use Larder\Lab\Report\Svg;
use Larder\Lab\Run\Result;

require __DIR__ . '/../vendor/autoload.php';

[, $report, $picture] = $argv + ['', '', ''];
$rank = new Rank((new JsonReader())->read($report));
$group = array_values(array_filter(
    $rank->groups($rank->scenarios()[0] ?? '')[0] ?? [],
    static fn(Result $result): bool => in_array($result->cell->connection, [Cell::PROCESS, Cell::SOCKET], true) && $result->cell->request === Cell::REQUEST,
));
file_put_contents($picture, Svg::rows('picture', $group === [] ? '' : $rank->title($group), $group, $rank, true) . "\n");
