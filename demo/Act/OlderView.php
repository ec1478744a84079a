<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Part;
use Larder\Demo\Stage;

final class OlderView implements Act
{
    public function title(): string
    {
        return 'The older view never wins';
    }

    public function needs(): array
    {
        return [Part::Fpm];
    }

    public function play(Stage $stage): void
    {
        $stage->say('Two requests sell a piece each: read the cached stock, write the database, write the cache. The first is interrupted before its last step, and the second overtakes it.');
        $database = $stage->file('database');
        \file_put_contents($database, "10\n");
        $dsn = $stage->disk('cache');
        $web = $stage->web('php-fpm');
        $parameters = ['database' => $database];
        $web->ask('sale.php', $dsn, $parameters + ['do' => 'look']);
        $stage->step('', 'the stock is 10, in the database and in the cache');

        $gate = $stage->file('gate');
        $slow = $web->send('sale.php', $dsn, $parameters + ['gate' => $gate]);
        $stage->await(static fn(): bool => \file_exists($gate . '.waits'));
        $stage->step('request A', 'reads 10, writes 9 into the database, is interrupted');
        $web->ask('sale.php', $dsn, $parameters);
        $stage->step('request B', 'reads 10, writes 8 into the database, sets 8');
        \touch($gate . '.open');
        $late = $web->receive($slow);
        $slow->close();
        $stage->step('request A', 'goes on, and sets 9');

        $look = $web->ask('sale.php', $dsn, $parameters + ['do' => 'look']);
        [$stock, $plain] = \is_array($look->value) ? $look->value + [null, null] : [null, null];
        [, $dropped] = \is_array($late->value) ? $late->value + [null, null] : [null, null];
        $truth = (int) \file_get_contents($database);
        if (\is_int($plain)) {
            $stage->step('plain APCu', 'the same steps beside it: ' . $plain . ' is cached, the database says ' . $truth);
        }
        $stage->step('request C', \sprintf('finds %s in Larder, asks the database: %d', $look->computed ? 'nothing' : 'a value', $truth));
        $stage->claim($look->computed && $dropped === 1 && $stock === $truth && $truth === 8, 'A\'s late set has dropped the key instead of burying B\'s; now ' . \json_encode($stock) . ' is cached again');
        $web->stop();
    }
}
