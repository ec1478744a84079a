<?php

declare(strict_types=1);

namespace Larder\Demo;

use Larder\Tests\Support\FastCgi;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\TemporaryDirectory;

/** A web server: a php-fpm master of its own, and with it an APCu of its own. */
final class Web
{
    private ?FpmServer $fpm = null;

    public function __construct(public readonly string $name, private readonly TemporaryDirectory $directory, private readonly int $workers)
    {
        $this->start();
    }

    public function start(): void
    {
        $this->fpm = new FpmServer($this->workers, '32M', ['opcache.enable' => 1, 'larder.state' => $this->directory->file('state' . \strrchr($this->name, ' '))]);
        // OPcache and the autoloader know the classes from the second request on; that is no time of a cache.
        for ($i = 0; $i < 4; ++$i) {
            $this->ask('report.php', $this->scratch(), ['editions' => $this->directory->file('warm'), 'seconds' => 0]);
        }
    }

    public function stop(): void
    {
        $this->fpm?->stop();
        $this->fpm = null;
    }

    /**
     * A request.
     *
     * @param array<string, string|int|float> $parameters
     */
    public function ask(string $script, string $dsn, array $parameters = []): Answer
    {
        $connection = $this->send($script, $dsn, $parameters);
        try {
            return $this->receive($connection);
        } finally {
            $connection->close();
        }
    }

    /**
     * A request whose answer is fetched later.
     *
     * @param array<string, string|int|float> $parameters
     */
    public function send(string $script, string $dsn, array $parameters = []): FastCgi
    {
        $connection = $this->running()->connect(Stage::PATIENCE);
        $connection->send(__DIR__ . '/scripts/' . $script, $parameters, '', ['LARDER_DSN' => $dsn]);

        return $connection;
    }

    public function receive(FastCgi $connection): Answer
    {
        $response = $connection->receive();
        if ($response->status !== 200) {
            throw new \RuntimeException($this->name . ' answered ' . $response->status . ': ' . \substr(\trim($response->body) . ' ' . $this->log(), 0, 600));
        }

        return Answer::parse($response->body, $this->log());
    }

    public function log(): string
    {
        return $this->running()->log();
    }

    public function socket(): string
    {
        return $this->running()->socket;
    }

    public function pid(): int
    {
        return $this->running()->pid();
    }

    private function running(): FpmServer
    {
        return $this->fpm ?? throw new \LogicException($this->name . ' was stopped.');
    }

    private function scratch(): string
    {
        return (Part::Sqlite->isHere() ? 'sqlite' : 'file') . '://' . $this->directory->file('warm-' . $this->name) . (Part::Apcu->isHere() && !Part::Segment->isHere() ? '?near=apcu' : '');
    }
}
