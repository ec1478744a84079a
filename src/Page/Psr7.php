<?php

declare(strict_types=1);

namespace Larder\Page;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/** Requests and responses of PSR-7 in the form of this folder. */
final class Psr7
{
    /** @return array<array-key, mixed> the request's variables by their CGI names (RFC 3875, section 4.1) */
    public static function variables(ServerRequestInterface $request): array
    {
        // What the server says of the connection; the fields are the request's own.
        $variables = \array_filter($request->getServerParams(), static fn(string|int $name): bool => !\str_starts_with((string) $name, 'HTTP_'), \ARRAY_FILTER_USE_KEY);
        $uri = $request->getUri();
        $variables['REQUEST_METHOD'] = $request->getMethod();
        $variables['REQUEST_URI'] = $request->getRequestTarget();
        $variables['QUERY_STRING'] = $uri->getQuery();
        $variables['HTTPS'] = $uri->getScheme() === 'https' ? 'on' : '';
        $variables['SERVER_PORT'] ??= (string) ($uri->getPort() ?? ($uri->getScheme() === 'https' ? 443 : 80));
        $variables['SERVER_NAME'] ??= $uri->getHost();
        foreach ($request->getHeaders() as $name => $values) {
            $name = \strtoupper(\strtr((string) $name, '-', '_'));
            $variables['HTTP_' . $name] = \implode($name === 'COOKIE' ? '; ' : ', ', $values);
        }
        $cookies = $request->getHeader('Cookie');
        foreach ($request->getCookieParams() as $name => $value) {
            // Set by a middleware before.
            $name = \rawurlencode((string) $name);
            \str_contains('; ' . \implode('; ', $cookies), "; $name=") || $cookies[] = "$name=" . (\is_string($value) ? \rawurlencode($value) : '');
        }
        if ($cookies !== []) {
            $variables['HTTP_COOKIE'] = \implode('; ', $cookies);
        }
        $recorded = $request->getAttribute(Exchange::RECORDED);
        if (\is_string($recorded)) {
            $variables[Exchange::RECORDED] = $recorded;
        }
        if ($uri->getUserInfo() !== '') {
            $variables['PHP_AUTH_USER'] ??= $uri->getUserInfo();
        }
        if ($request->getBody()->getSize() > 0 || ($request->getParsedBody() ?? []) !== []) {
            $variables['CONTENT_LENGTH'] = (string) $request->getBody()->getSize() ?: '1';
        }

        return $variables;
    }

    /**
     * The request as the application gets it.
     *
     * @param array<array-key, mixed> $variables from Exchange::variables()
     */
    public static function with(ServerRequestInterface $request, array $variables): ServerRequestInterface
    {
        $request = $request->withAttribute(Exchange::RECORDED, $variables[Exchange::RECORDED] ?? null);
        foreach (\array_keys($request->getHeaders()) as $name) {
            $request = isset($variables[RequestKey::nameOf((string) $name)]) ? $request : $request->withoutHeader((string) $name);
        }
        foreach (['If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since', 'Range', 'If-Range', 'Larder-Renewal', 'Surrogate-Capability'] as $name) {
            $value = $variables[RequestKey::nameOf($name)] ?? null;
            $request = \is_string($value) ? $request->withHeader($name, $value) : $request->withoutHeader($name);
        }
        $cookies = $variables['HTTP_COOKIE'] ?? '';
        if (\is_string($cookies) && $cookies !== (self::variables($request)['HTTP_COOKIE'] ?? '')) {
            $request = ($cookies === '' ? $request->withoutHeader('Cookie') : $request->withHeader('Cookie', $cookies))
                ->withCookieParams(\array_filter($request->getCookieParams(), static fn(string|int $name): bool => \str_contains("; $cookies", '; ' . \rawurlencode((string) $name) . '='), \ARRAY_FILTER_USE_KEY));
        }
        $query = $variables['QUERY_STRING'] ?? '';
        $target = $variables['REQUEST_URI'] ?? '';
        if (\is_string($query) && \is_string($target) && ($query !== $request->getUri()->getQuery() || $target !== $request->getRequestTarget())) {
            \parse_str($query, $parameters);
            $request = $request->withUri($request->getUri()->withQuery($query), true)->withQueryParams($parameters)->withRequestTarget($target);
        }

        return $request;
    }

    /** @param list<string> $beside what PHP itself sends with it */
    public static function reply(ResponseInterface $response, string $body, array $beside): Reply
    {
        $lines = [];
        foreach ($response->getHeaders() as $name => $values) {
            foreach ($values as $value) {
                $lines[] = "$name: $value";
            }
        }

        return new Reply($response->getStatusCode(), $lines, $body, $beside);
    }
}
