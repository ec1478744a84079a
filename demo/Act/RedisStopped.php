<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;

final class RedisStopped implements Act
{
    private const REQUESTS = 5;

    public function title(): string
    {
        return 'Redis stops, the page goes on';
    }

    public function needs(): array
    {
        return [Part::Fpm, Part::Redis];
    }

    public function play(Stage $stage): void
    {
        $stage->say('What is near may have been deleted by another server meanwhile, and nobody can say. So without Redis nothing old is shown: the page computes, in 50 ms here.');
        $redis = $stage->redis();
        $dsn = $stage->far();
        $parameters = ['editions' => $stage->file('editions'), 'seconds' => 0.05];
        $web = $stage->web('php-fpm', 1);
        $web->ask('report.php', $dsn, $parameters);
        $before = $web->ask('report.php', $dsn, $parameters);
        $stage->step('php-fpm', $before->story(), $before->milliseconds);

        $redis->stop();
        $stage->step('Redis', '(stopped)');
        $lines = \substr_count($web->log(), 'larder:');
        $good = 0;
        for ($i = 0; $i < self::REQUESTS; ++$i) {
            $answer = $web->ask('report.php', $dsn, $parameters);
            $good += (int) ($answer->computed && \str_starts_with($answer->text(), 'edition '));
            if ($i < 2) {
                $stage->step('php-fpm', $answer->story(), $answer->milliseconds);
            }
        }
        $stage->step('php-fpm', '(and so on, ' . self::REQUESTS . ' requests)');
        $stage->claim($good === self::REQUESTS, 'every request was answered, with a value just computed');
        $deleted = $web->ask('report.php', $dsn, $parameters + ['do' => 'delete']);
        $stage->claim($deleted->value === false, 'a delete says false: it could not be recorded; it is kept until Redis is back');
        $said = \array_values(\array_filter(\explode("\n", $web->log()), static fn(string $line): bool => \str_contains($line, 'larder:')));
        $lines = \count($said) - $lines;
        $stage->step('log', \strtr(\substr($said[0] ?? '', (int) \strpos($said[0] ?? '', 'larder:')), [$redis->dir => '…']));
        $stage->claim($lines === 1, $lines === 1 ? 'one line in the log' : $lines . ' lines in the log');

        $redis->start();
        $stage->step('Redis', '(back, with its data)');
        $first = $web->ask('report.php', $dsn, $parameters);
        $stage->step('php-fpm', $first->story(), $first->milliseconds);
        $second = $web->ask('report.php', $dsn, $parameters);
        $stage->step('php-fpm', $second->story(), $second->milliseconds);
        [$status, $output] = $stage->larder($dsn, 'get', 'report');
        $stage->step('shell', '$ bin/larder get report: ' . $output);
        $stage->claim(
            $first->value !== $before->value && !$second->computed && $second->value === $first->value && $status === 0 && $output === $first->text(),
            'Redis is used again, and what was deleted meanwhile does not come back',
        );
        $web->stop();
    }
}
