<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\WordPress;

use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Statistics\Quantile;
use Larder\Lab\WordPress\Browser;
use Larder\Lab\WordPress\OpenLoop;
use Larder\Lab\WordPress\Request;
use Larder\Lab\WordPress\Response;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

#[Group('slow')]
final class OpenLoopTest extends TestCase
{
    private const REQUESTS = 250;

    /** @var list<Process> */
    private array $servers = [];

    /** A web server that answers one after the other, and after the 50th stands still for 200 ms. */
    private const SERVER = <<<'PHP'
        $server = stream_socket_server('tcp://127.0.0.1:0');
        echo stream_socket_get_name($server, false), "\n";
        for ($i = 0; $client = stream_socket_accept($server, 60); ++$i) {
            $i === 50 && usleep(200_000);
            fread($client, 8192);
            fwrite($client, "HTTP/1.0 200 OK\r\n\r\nAnswer $i");
            fclose($client);
        }
        PHP;

    protected function tearDown(): void
    {
        $this->servers = [];
    }

    /**
     * Of 250 requests, 500 a second, a hundred were to leave while the server stood still; of one after the other one did.
     *
     * Seen to fail: latency from the moment of sending, with a loop that waits for the answer before it sends again.
     */
    public function testAStallOfTheServerIsSeenInP99AndAClosedLoopHidesIt(): void
    {
        $open = OpenLoop::latencies($this->server(), 500.0, self::REQUESTS, static function (Response $response): void {
            self::assertSame(200, $response->status);
            self::assertStringStartsWith('Answer ', $response->body);
        });
        self::assertCount(self::REQUESTS, $open);

        $closed = [];
        $browser = new Browser($this->server());
        for ($i = 0; $i < self::REQUESTS; ++$i) {
            $start = \hrtime(true);
            $browser->ask(new Request('/'));
            $closed[] = (\hrtime(true) - $start) / 1e3;
        }
        \sort($open);
        \sort($closed);
        self::assertGreaterThan(150e3, \max($closed), 'it has met the stall');
        self::assertGreaterThan(150e3, Quantile::of($open, 0.99));
        self::assertGreaterThan(50e3, Quantile::of($open, 0.80));
        self::assertLessThan(Quantile::of($open, 0.99) / 2, Quantile::of($closed, 0.99));
    }

    public function testAWrongPageIsNotCounted(): void
    {
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('not this one');
        OpenLoop::latencies($this->server(), 500.0, 2, static fn(Response $response) => $response->body === 'Answer 0' || throw new ServiceFailure('not this one'));
    }

    public function testWhereNobodyAnswersItSaysSo(): void
    {
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('No answer from http://127.0.0.1:1/ at 500 requests a second');
        OpenLoop::latencies('http://127.0.0.1:1/', 500.0, 2, static fn() => null);
    }

    /** @return non-empty-string its URL */
    private function server(): string
    {
        $this->servers[] = $server = Process::snippet(self::SERVER);

        return 'http://' . $server->line();
    }
}
