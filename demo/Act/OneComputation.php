<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Stage;

final class OneComputation implements Act
{
    public function title(): string
    {
        return 'What one process computed, another has';
    }

    public function needs(): array
    {
        return [];
    }

    public function play(Stage $stage): void
    {
        $stage->say('A report takes a second to compute. Two processes want it, one after the other: two php on the command line, without any server.');
        $dsn = $stage->disk('cache');
        $parameters = ['editions' => $stage->file('editions'), 'seconds' => 1];
        $first = $stage->ask('report.php', $dsn, $parameters);
        $stage->step('php ' . $first->pid, $first->story(), $first->milliseconds);
        $second = $stage->ask('report.php', $dsn, $parameters);
        $stage->step('php ' . $second->pid, $second->story(), $second->milliseconds);
        $stage->claim(
            $first->computed && !$second->computed && $second->value === $first->value && $second->pid !== $first->pid,
            'the second process has the first one\'s value, and nothing was computed again',
        );
    }
}
