<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Server;
use Larder\Lab\Service\Silence;

/** The suite's own origin server. It answers as the test that a request belongs to says, and notes what it was asked. */
final class OriginServer extends Server
{
    /** It writes its process id into this file, and hands out the files of the directory that it works in. */
    private const PID = 'pid';

    public function __construct(Directory $directory, private readonly Suite $suite)
    {
        parent::__construct($directory);
    }

    /** What it printed: of a test that is dumped, the requests as they arrived and the responses as they left. */
    public function log(): string
    {
        return (string) Silence::of(fn(): string|false => \file_get_contents($this->home->file('log')));
    }

    protected function name(): string
    {
        return 'cache-tests';
    }

    protected function program(): string
    {
        return 'node';
    }

    protected function package(): string
    {
        return 'nodejs';
    }

    protected function arguments(int $port): array
    {
        // As `npm run server` would give them.
        $settings = \json_encode(['npm_config_protocol' => 'http', 'npm_config_port' => (string) $port, 'npm_config_pidfile' => self::PID], \JSON_THROW_ON_ERROR);
        $server = \json_encode('file://' . $this->suite->directory . '/server/server.mjs', \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES);

        return ['--no-warnings', '--input-type=module', '--eval', "Object.assign(process.env, $settings); await import($server)"];
    }

    protected function reachedBy(int $port): array
    {
        return ['host' => $this->place->host, 'port' => $port];
    }

    protected function question(): string
    {
        return 'GET /' . self::PID . " HTTP/1.0\r\n\r\n";
    }

    protected function understand(string $answer): ?array
    {
        return \preg_match('/^(\d+)\r?$/m', \substr($answer, (int) \strpos($answer, "\r\n\r\n") + 4), $found) === 1 ? [(int) $found[1], 'cache-tests'] : null;
    }
}
