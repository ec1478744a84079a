<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;

final class WholePage implements Act
{
    private const VISITS = 200;
    private const CROWD = 20;

    public function title(): string
    {
        return 'A whole page, before the application runs';
    }

    public function needs(): array
    {
        return [Part::Fpm, Part::Nginx, Part::Sqlite];
    }

    public function play(Stage $stage): void
    {
        $stage->say('A shop\'s page by nginx and php-fpm, which takes its application 30 milliseconds and more. Two lines in front of it, and it is made once.');
        $directory = Directory::temporary();
        $account = Account::own();
        $root = $directory->sub('www');
        $dsn = $stage->disk('pages');
        \copy(\dirname(__DIR__) . '/scripts/shop.php', $root->file('shop.php'));
        \file_put_contents($root->file('index.php'), '<?php putenv(' . \var_export("LARDER_DSN=$dsn", true) . '); putenv(' . \var_export("DEMO_SITE=$root->path", true) . '); require ' . \var_export(\dirname(__DIR__) . '/scripts/shop.php', true) . ';');
        \file_put_contents($root->file('price'), '12');
        $fpm = new PhpFpmServer($directory, $account, 8, ['opcache.enable' => 1]);
        $nginx = null;
        try {
            $fpm->start();
            $nginx = new NginxServer($directory, $account, $root->path, $fpm->socket());
            $nginx->start();
            $this->visit($stage, 'http://' . \implode(':', $nginx->address()) . '/', $root->path, $dsn);
        } finally {
            $nginx?->stop();
            $fpm->stop();
            self::forget($stage->file('pages'));
            $directory->remove();
        }
    }

    /** What larder-serve.php keeps in memory until the machine starts again. */
    private static function forget(string $cache): void
    {
        foreach (\glob('/dev/shm/larder-serve-' . \posix_geteuid() . '-*/constants.php') ?: [] as $file) {
            if (\str_contains((string) \file_get_contents($file), $cache)) {
                \array_map(\unlink(...), \glob(\dirname($file) . '/*') ?: []);
                \rmdir(\dirname($file));
            }
        }
    }

    private function visit(Stage $stage, string $url, string $site, string $dsn): void
    {
        $runs = static fn(): int => \strlen((string) @\file_get_contents("$site/runs"));
        [$first, $milliseconds] = self::get($url);
        $stage->step('visitor 1', 'the application makes it: ' . self::status($first), $milliseconds);
        $times = [];
        $last = '';
        for ($visit = 0; $visit < self::VISITS; $visit++) {
            [$last, $times[]] = self::get($url);
        }
        \sort($times);
        $stage->step('visitor ' . (self::VISITS + 1), 'from the store: ' . self::status($last), $times[\intdiv(self::VISITS, 2)]);
        $stage->claim($runs() === 1 && \str_contains($last, 'price 12') && \str_contains(self::status($last), '; hit'), self::VISITS . ' visits, and the application ran once');

        \file_put_contents("$site/price", '9');
        [$status, $output, $errors, $milliseconds] = $stage->larder($dsn, 'page:purge', '--tag=product-7');
        $stage->step('shell', '$ bin/larder page:purge --tag=product-7: ' . ($status === 0 ? \explode("\n", $output)[0] : $errors), $milliseconds);
        $bodies = self::together($url, self::CROWD);
        $stage->step('visitors', self::CROWD . ' at once, directly after it');
        $stage->claim(
            \count(\array_filter($bodies, static fn(string $body): bool => \str_contains($body, 'price 9'))) === self::CROWD && $runs() === 2,
            'each of them got the new price, and the application ran once for all',
        );
    }

    /** @return array{string, float} header and body, and the milliseconds that they took */
    private static function get(string $url): array
    {
        $start = \hrtime(true);
        $body = (string) \file_get_contents($url);
        $milliseconds = (\hrtime(true) - $start) / 1e6;

        return [\implode("\n", $http_response_header) . "\n\n$body", $milliseconds];
    }

    private static function status(string $answer): string
    {
        return \preg_match('/^Cache-Status: (.*)$/mi', $answer, $found) === 1 ? \trim($found[1]) : 'no Cache-Status';
    }

    /** @return list<string> the answers to requests that are all under way at the same time */
    private static function together(string $url, int $number): array
    {
        $host = \substr($url, 7, -1);
        $sockets = [];
        for ($i = 0; $i < $number; $i++) {
            $socket = \stream_socket_client("tcp://$host");
            if ($socket !== false) {
                \fwrite($socket, "GET / HTTP/1.0\r\nHost: $host\r\n\r\n");
                $sockets[] = $socket;
            }
        }

        return \array_map(static fn($socket): string => (string) \stream_get_contents($socket), $sockets);
    }
}
