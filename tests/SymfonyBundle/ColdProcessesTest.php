<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;

/** Ten processes of an application ask for the same key at once. */
#[CoversNothing]
#[Group('bridge')]
final class ColdProcessesTest extends ApplicationTestCase
{
    private const PROCESSES = 10;

    public function testOneOfTenColdProcessesComputesAndOneRenewsEarly(): void
    {
        $this->check('sqlite://' . $this->root->file('cache'));
    }

    public function testOverRedisToo(): void
    {
        RedisServer::demand();
        $server = new RedisServer();
        $this->check("redis://$server->socket");
        $server->stop();
    }

    private function check(string $dsn): void
    {
        $config = self::pools(['products' => ['adapter' => 'cache.adapter.larder', 'tags' => true]], ['dsn' => $dsn]);
        // The container is compiled before.
        $this->play('read', $config, ['products', 'other']);
        $notes = $this->root->file('notes');

        $cold = $this->together($config, $notes, 0.0);
        self::assertCount(1, \array_filter(\array_column($cold, 'computed')));
        self::assertCount(1, \array_unique(\array_column($cold, 'value')));

        // It took 0.3 s, lives for 9 and has a beta of 10: two seconds after, one caller computes it anew, while the others get
        // the old value.
        $early = $this->together($config, $notes, 2.05);
        self::assertCount(1, \array_filter(\array_column($early, 'computed')), 'Nobody, or more than one, renewed it.');
        self::assertGreaterThan(1, \count(\array_keys(\array_column($early, 'value'), $cold[0]['value'], true)), 'The others have waited for the new value.');
        self::assertCount(2, \file($notes) ?: []);
    }

    /**
     * @param float $age seconds of the value, at least
     *
     * @return list<array{value: int, computed: bool}>
     */
    private function together(array $config, string $notes, float $age): array
    {
        $processes = [];
        for ($i = 0; $i < self::PROCESSES; ++$i) {
            $processes[] = $this->begin('cold', $config, ['products', $notes]);
        }
        foreach ($processes as $process) {
            $process->expect('ready');
        }
        Wait::until(static fn(): bool => $age === 0.0 || \microtime(true) > (float) \file_get_contents($notes) + $age, 'the value to grow old');
        foreach ($processes as $process) {
            $process->write("go\n");
        }

        return \array_map(self::end(...), $processes);
    }
}
