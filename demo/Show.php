<?php

declare(strict_types=1);

namespace Larder\Demo;

/** Plays the acts, each on a stage of its own, and counts. */
final readonly class Show
{
    public function __construct(private Terminal $terminal) {}

    /**
     * @param non-empty-list<Act> $acts
     *
     * @return int 0, or 1 if a claim does not hold
     */
    public function play(array $acts): int
    {
        $begin = \hrtime(true);
        $held = $failed = $skipped = 0;
        $this->terminal->heading('Larder, on real engines', \sprintf('PHP %s, %s', \PHP_VERSION, \php_uname('s') . ' ' . \php_uname('m')));
        foreach ($acts as $i => $act) {
            $this->terminal->title($i + 1, $act->title());
            $missing = \array_filter($act->needs(), static fn(Part $part): bool => !$part->isHere());
            foreach ($missing as $part) {
                $this->terminal->skipped(\sprintf('Skipped: %s is not here. Type: %s', $part->label(), $part->advice()));
            }
            if ($missing !== []) {
                ++$skipped;
                continue;
            }
            $stage = new Stage($this->terminal);
            try {
                $act->play($stage);
            } catch (\Throwable $exception) {
                $stage->claim(false, 'It broke off: ' . $exception->getMessage());
            } finally {
                $stage->clear();
            }
            $held += $stage->held();
            $failed += $stage->failed();
            $skipped += $stage->skipped();
        }
        $this->terminal->line();
        $this->terminal->claim($failed === 0, \sprintf(
            '%d claims, %s%s; %.0f seconds',
            $held + $failed,
            $failed === 0 ? 'all of them held' : $failed . ' DID NOT HOLD',
            $skipped === 0 ? '' : ', ' . $skipped . ' skipped',
            (\hrtime(true) - $begin) / 1e9,
        ));
        $this->terminal->line('   Everything ran in ' . \sys_get_temp_dir() . ', which goes away now.');
        $this->terminal->line();

        return $failed === 0 ? 0 : 1;
    }
}
