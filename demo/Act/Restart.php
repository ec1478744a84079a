<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;

final class Restart implements Act
{
    public function title(): string
    {
        return 'It is still there after a restart';
    }

    public function needs(): array
    {
        return [Part::Fpm];
    }

    public function play(Stage $stage): void
    {
        $near = $stage->nearName();
        $stage->say('Now the web: php-fpm, with ' . ($near === '' ? '' : $near . ' before ') . $stage->diskName() . '. Then php-fpm is stopped, so that no php is left, and started again.');
        if ($near === '') {
            $stage->skip(Part::Apcu, 'The tier in memory is');
        }
        $dsn = $stage->disk('cache', $stage->near());
        $parameters = ['editions' => $stage->file('editions'), 'seconds' => 1];
        $web = $stage->web('web');
        $before = $web->pid();
        $answers = [];
        foreach (['before', 'after'] as $when) {
            for ($i = 0; $i < 2; ++$i) {
                $answers[] = $answer = $web->ask('report.php', $dsn, $parameters);
                $stage->step('php-fpm', $answer->story(), $answer->milliseconds);
            }
            if ($when === 'before') {
                $web->stop();
                $web->start();
                $stage->step('', '(stopped, and started: master ' . $before . ' is gone, ' . $web->pid() . ' is there)');
            }
        }
        $web->stop();
        [$first, $second, $third, $fourth] = $answers;
        $stage->claim($first->computed && !$second->computed && !$third->computed && !$fourth->computed, 'computed once, before the restart');
        if (Part::Segment->isHere()) {
            $stage->claim(
                $second->engine === 'segment' && $third->engine === 'segment' && $fourth->engine === 'segment',
                'the segment is nobody\'s: it was there when php-fpm was not, and the first request after the restart reads from it',
            );
        } elseif ($near !== '') {
            $stage->claim(
                $second->engine === 'apcu' && $third->engine !== 'apcu' && $third->engine !== '' && $fourth->engine === 'apcu',
                'APCu was empty after the restart; the disk was not, and fills it again',
            );
        }
    }
}
