<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Server;

/**
 * The suite's own origin server. It answers as the test that a request belongs to says, and notes what it was asked; of a test
 * that is dumped its log has the requests as they arrived and the responses as they left.
 */
final class OriginServer extends Server
{
    /** It writes its process id into this file, and hands out the files of the directory that it works in. */
    private const PID = 'pid';

    public function __construct(Directory $directory, private readonly Suite $suite)
    {
        parent::__construct($directory, 'cache-tests', 'node', 'nodejs');
    }

    protected function arguments(int $port): array
    {
        // As `npm run server` would give them.
        $settings = \json_encode(['npm_config_protocol' => 'http', 'npm_config_port' => (string) $port, 'npm_config_pidfile' => self::PID], \JSON_THROW_ON_ERROR);
        $server = \json_encode('file://' . $this->suite->directory . '/test-engine/server/server.mjs', \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES);

        return ['--no-warnings', '--input-type=module', '--eval', "Object.assign(process.env, $settings); await import($server)"];
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
