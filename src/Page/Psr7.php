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
        $variables['SERVER_PORT'] = (string) ($uri->getPort() ?? ($uri->getScheme() === 'https' ? 443 : 80));
        foreach ($request->getHeaders() as $name => $values) {
            $name = \strtoupper(\strtr((string) $name, '-', '_'));
            $variables['HTTP_' . $name] = \implode($name === 'COOKIE' ? '; ' : ', ', $values);
        }
        if (!isset($variables['HTTP_COOKIE']) && $request->getCookieParams() !== []) {
            $variables['HTTP_COOKIE'] = \implode('; ', \array_map(static fn(string|int $name): string => \rawurlencode((string) $name) . '=', \array_keys($request->getCookieParams())));
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
        foreach (['If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since', 'Range', 'If-Range', 'Larder-Renewal'] as $name) {
            $value = $variables['HTTP_' . \strtoupper(\strtr($name, '-', '_'))] ?? null;
            $request = \is_string($value) ? $request->withHeader($name, $value) : $request->withoutHeader($name);
        }
        $query = $variables['QUERY_STRING'] ?? '';
        if (\is_string($query) && $query !== $request->getUri()->getQuery()) {
            \parse_str($query, $parameters);
            $request = $request->withUri($request->getUri()->withQuery($query), true)->withQueryParams($parameters);
        }

        return $request;
    }

    public static function reply(ResponseInterface $response, string $body): Reply
    {
        $lines = [];
        foreach ($response->getHeaders() as $name => $values) {
            foreach ($values as $value) {
                $lines[] = "$name: $value";
            }
        }

        return new Reply($response->getStatusCode(), $lines, $body);
    }
}
