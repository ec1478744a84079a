<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;

final class SecondServer implements Act
{
    public function title(): string
    {
        return 'Two servers, one cache';
    }

    public function needs(): array
    {
        return [Part::Fpm, Part::Redis];
    }

    public function play(Stage $stage): void
    {
        $stage->say('Two php-fpm masters, each with a directory' . (Part::Segment->isHere() ? ' and a segment of memory' : (Part::Apcu->isHere() ? ' and an APCu' : '')) . ' of its own, as on two servers. They share a Redis.');
        $servers = [];
        foreach (['server A', 'server B'] as $name) {
            $servers[] = [$stage->web($name), $stage->far(\substr($name, -1))];
        }
        [[$a, $dsnOfA], [$b, $dsnOfB]] = $servers;
        $parameters = ['editions' => $stage->file('editions'), 'seconds' => 1];

        $computed = $a->ask('report.php', $dsnOfA, $parameters);
        $stage->step('server A', $computed->story(), $computed->milliseconds);
        $shared = $b->ask('report.php', $dsnOfB, $parameters);
        $stage->step('server B', $shared->story(), $shared->milliseconds);
        $near = $b->ask('report.php', $dsnOfB, $parameters);
        $stage->step('server B', $near->story(), $near->milliseconds);
        $stage->claim($computed->computed && !$shared->computed && $shared->value === $computed->value, 'what A computed, B has');

        $deleted = $a->ask('report.php', $dsnOfA, $parameters + ['do' => 'delete']);
        $stage->step('server A', 'deletes it', $deleted->milliseconds);
        $new = $b->ask('report.php', $dsnOfB, $parameters);
        $stage->step('server B', $new->story(), $new->milliseconds);
        $stage->claim($deleted->value === true && $new->computed, 'B\'s next request knows of it, and does not use the copies that B still had');
        $b->stop();
        $a->stop();
    }
}
