<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/** A comparison for a merge request: the verdict first, what could not be compared last and folded up. */
final class Markdown
{
    public static function of(Findings $findings): string
    {
        $comparison = $findings->comparison;
        $text = '**' . ($comparison->fails() ? 'Lost. ' : '') . self::plain($findings->verdict()) . "**\n";
        foreach ([...$findings->disqualified(), ...$findings->warnings()] as $line) {
            $text .= "\n- " . self::plain($line);
        }
        $text .= "\n";
        foreach ($findings->groups(true) as $group) {
            $text .= "\n### " . self::plain($group['title']) . "\n\n| cell | old | new | new/old | 95 % |\n|---|---:|---:|---:|---:|\n";
            foreach ($group['changes'] as $change) {
                $text .= '| ' . \implode(' | ', \array_map(self::plain(...), [
                    Name::shown($change->cell->id(), 200),
                    Findings::amount($change->old, $change->cell->unit),
                    Findings::amount($change->new, $change->cell->unit),
                    Findings::number($change->ratio),
                    Findings::interval($change),
                ])) . " |\n";
            }
        }
        foreach ($findings->apart() as $group) {
            $text .= "\n<details><summary>" . self::plain($group['title'] . ', ' . \count($group['cells'])) . "</summary>\n\n";
            foreach ($group['cells'] as $cell) {
                $text .= '- ' . self::plain($cell) . "\n";
            }
            $text .= "\n</details>\n";
        }
        $advice = $findings->advice();

        return $advice === null ? $text : $text . "\n" . self::plain($advice) . "\n";
    }

    /** Names stay names: no character of theirs is markup, HTML or the end of a table's cell. */
    private static function plain(string $text): string
    {
        return \preg_replace('/[\\\\`*_{}\[\]<>#|~$@!]/', '\\\\$0', \str_replace('&', '&amp;', $text)) ?? '';
    }
}
