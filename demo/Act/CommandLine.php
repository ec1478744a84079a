<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;
use Larder\Demo\Web;

final class CommandLine implements Act
{
    public function title(): string
    {
        return 'The command line deletes, the web knows';
    }

    public function needs(): array
    {
        return [Part::Fpm];
    }

    public function play(Stage $stage): void
    {
        $stage->say('The same page by php-fpm; then "bin/larder delete report" in a shell, and the page\'s next request. ' . (Part::Segment->isHere() ? 'Shell and php-fpm share one segment of memory. ' : '') . 'Into php-fpm\'s APCu the shell can never look.');
        $web = $stage->web('php-fpm');
        $this->delete($stage, $web, $stage->disk('plain'));
        if (Part::Apcu->isHere()) {
            $stage->line();
            $this->delete($stage, $web, $stage->disk('near', ['near=apcu']));
        } else {
            $stage->skip(Part::Apcu, 'The same with near=apcu is');
        }
        $web->stop();
    }

    private function delete(Stage $stage, Web $web, string $dsn): void
    {
        $parameters = ['editions' => $stage->file('editions-' . \md5($dsn)), 'seconds' => 0.3];
        $web->ask('report.php', $dsn, $parameters);
        $before = $web->ask('report.php', $dsn, $parameters);
        $stage->step('php-fpm', $before->story(), $before->milliseconds);
        [$status, $output, $errors, $milliseconds] = $stage->larder($dsn, 'delete', 'report');
        $stage->step('shell', '$ bin/larder delete report: ' . ($status === 0 ? $output : $errors), $milliseconds);
        $after = $web->ask('report.php', $dsn, $parameters);
        $stage->step('php-fpm', $after->story(), $after->milliseconds);
        $stage->claim(
            !$before->computed && $status === 0 && $after->computed && $after->value !== $before->value,
            Part::Segment->isHere() && !\str_contains($dsn, 'near=')
                ? 'seen at the next request, where it was in the segment' . ($before->engine === 'segment' ? '' : ' (but it was not)')
                : (\str_contains($dsn, 'near=apcu')
                ? 'seen at the next request, also where it was in APCu' . ($before->engine === 'apcu' ? '' : ' (but it was not)')
                : 'seen at the next request'),
        );
    }
}
