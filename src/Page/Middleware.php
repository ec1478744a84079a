<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\Config\InvalidConfiguration;
use Larder\System\ErrorLog;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;

/**
 * The page cache as a middleware (PSR-15): put it first. It keeps the rules of PageCache.
 *
 * A stale page is renewed after the visitor has got it where PHP can end a response early (php-fpm, LiteSpeed); elsewhere the
 * first visitor of a stale page waits for its renewal, and the others get it stale.
 */
final class Middleware implements MiddlewareInterface
{
    private readonly Pages $pages;
    private readonly Settings $settings;

    /**
     * @param array<array-key, mixed> $options see PageCache
     *
     * @throws InvalidConfiguration
     */
    public function __construct(
        Cache $cache,
        array $options,
        private readonly ResponseFactoryInterface $responses,
        private readonly StreamFactoryInterface $streams,
    ) {
        $this->settings = Settings::from($options);
        $this->pages = new Pages($cache, $this->settings);
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        // In a process of many requests each sees what was purged before it began.
        $this->pages->refresh();
        $outer = PageCache::takeTags();
        try {
            return $this->answer($request, $handler);
        } finally {
            // What an exception has left behind is no other request's; what was there before may be that of a request which this
            // one is a part of.
            PageCache::takeTags();
            PageCache::tag(...$outer);
        }
    }

    private function answer(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $exchange = Exchange::of($this->pages, $this->settings, Psr7::variables($request));
        $reply = $exchange->answer();
        if ($reply !== null) {
            $this->pages->publish();
            if ($exchange->renewal === null) {
                return $this->response($reply);
            }
            $renew = fn(): ResponseInterface => $this->run($exchange, $request, $handler);
            if (!Sapi::canFinish()) {
                return $renew();
            }
            \register_shutdown_function(static function () use ($renew): void {
                Sapi::finish();
                $renew();
            });

            return $this->response($reply);
        }
        $this->pages->purge()->follow();

        return $this->run($exchange, $request, $handler);
    }

    private function run(Exchange $exchange, ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $exchange->renewal === null || $exchange->renew();
        try {
            [$response, $beside] = Sapi::watch(static fn(): ResponseInterface => $handler->handle(Psr7::with($request, $exchange->variables())));
            $size = $response->getBody()->getSize();
            $unfit = match (true) {
                !$exchange->isRecorded => '',
                $size === null || $size > $this->settings->largest || !$response->getBody()->isReadable() || !$response->getBody()->isSeekable() => 'it is a stream, or too long',
                !ResponseEncoder::fitsMemory($size) => ResponseEncoder::NO_MEMORY,
                default => '',
            };
            if ($exchange->isRecorded && $unfit === '') {
                $body = (string) $response->getBody();
                $length = $response->hasHeader('Content-Length') ? $response->getHeaderLine('Content-Length') : (string) \strlen($body);
                $broken = $length === (string) \strlen($body) ? '' : 'its Content-Length is not its length';

                return $this->response($exchange->conclude(Psr7::reply($response, $body, $beside), PageCache::takeTags(), $broken), $response);
            }
            $reply = $exchange->conclude(Psr7::reply($response, '', $beside), PageCache::takeTags(), unfit: $unfit);

            return $this->header($response, $reply);
        } catch (\Throwable $failure) {
            $reply = $exchange->conclude(new Reply(500, []), [], 'the application has thrown ' . $failure::class);
            if (!$exchange->isSpared) {
                throw $failure;
            }
            ErrorLog::write('Larder: the stale page is served, for the application has thrown ' . $failure);

            return $this->response($reply);
        } finally {
            $exchange->giveUp();
        }
    }

    private function response(Reply $reply, ?ResponseInterface $like = null): ResponseInterface
    {
        $reason = $like !== null && $like->getStatusCode() === $reply->status ? $like->getReasonPhrase() : '';

        return $this->header($this->responses->createResponse($reply->status, $reason), $reply)->withBody($this->streams->createStream($reply->body));
    }

    private function header(ResponseInterface $response, Reply $reply): ResponseInterface
    {
        foreach (\array_keys($response->getHeaders()) as $name) {
            $response = $response->withoutHeader((string) $name);
        }
        foreach ($reply->lines as $line) {
            [$name, $value] = \explode(':', $line, 2);
            $response = $response->withAddedHeader($name, \trim($value));
        }

        return $response;
    }
}
