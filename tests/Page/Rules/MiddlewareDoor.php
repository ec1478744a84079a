<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Cache;
use Larder\Page\Middleware;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

/** Through the middleware, in this process. */
final class MiddlewareDoor implements Door, RequestHandlerInterface
{
    private Step $step;
    private string $body = '';

    /** @var ?array<string, list<string>> */
    private ?array $asked = null;

    /** @var ?\Closure(): void what else happens while the application runs */
    public ?\Closure $meanwhile = null;

    /**
     * @param \Closure(): Cache    $cache   a new one for each request, as each process has its own
     * @param array<string, mixed> $options of the page cache
     */
    public function __construct(private readonly \Closure $cache, private readonly array $options) {}

    public function origin(): string
    {
        return 'http://shop.example';
    }

    public function visit(Step $step, string $body): Visit
    {
        [$this->step, $this->body, $this->asked] = [$step, $body, null];
        $factory = new Psr17Factory();
        $request = new ServerRequest($step->method, $this->origin() . $step->target, $step->fields);
        $response = (new Middleware(($this->cache)(), $this->options, $factory, $factory))->process($request, $this);

        return new Visit($response->getStatusCode(), self::fields($response->getHeaders()), (string) $response->getBody(), $this->asked);
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $asked = self::fields($request->getHeaders());
        $response = new Response($this->step->answers, [], $this->body);
        foreach ($this->step->lines as $line) {
            [$name, $value] = \explode(':', $line, 2);
            $response = $response->withAddedHeader($name, \trim($value));
        }
        if ($this->meanwhile !== null) {
            ($this->meanwhile)();
        }
        $this->asked = $asked;

        return $response;
    }

    /**
     * @param array<array-key, array<string>> $headers
     *
     * @return array<string, list<string>>
     */
    private static function fields(array $headers): array
    {
        $fields = [];
        foreach ($headers as $name => $values) {
            $fields[\strtolower((string) $name)] = \array_values($values);
        }

        return $fields;
    }
}
