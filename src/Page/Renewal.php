<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * Renews a page by a request to this server, after the visitor has got the stale one, at the end of his request or in a worker
 * of a queue. It runs in a request of its own, because only there header() and setcookie() still work: a page that has become private must look so.
 */
final class Renewal
{
    /** Fields of the visitor's request that are not repeated. */
    private const NOT_REPEATED = ['HTTP_HOST', 'HTTP_CONNECTION', 'HTTP_KEEP_ALIVE', 'HTTP_UPGRADE', 'HTTP_TE', 'HTTP_TRANSFER_ENCODING', 'HTTP_CONTENT_LENGTH', 'HTTP_CONTENT_TYPE', 'HTTP_EXPECT', 'HTTP_CACHE_CONTROL', 'HTTP_PRAGMA', 'HTTP_RANGE', 'HTTP_IF_RANGE', 'HTTP_IF_NONE_MATCH', 'HTTP_IF_MODIFIED_SINCE', 'HTTP_IF_MATCH', 'HTTP_IF_UNMODIFIED_SINCE', 'HTTP_PROXY', Exchange::RENEWAL];

    private const NEEDED = ['SERVER_SOFTWARE', 'SERVER_ADDR', 'SERVER_PORT', 'HTTPS', 'REQUEST_URI'];

    /** Seconds to connect. */
    private const TIMEOUT = 1.0;

    /**
     * What request() needs of a request's variables, so that another process can call it.
     *
     * @param array<array-key, mixed> $variables
     *
     * @return array<string, string>
     */
    public static function repeated(array $variables): array
    {
        return \array_filter($variables, static fn(mixed $value, int|string $name): bool => \is_string($value) && \is_string($name)
            && (\in_array($name, self::NEEDED, true) || (\str_starts_with($name, 'HTTP_') && ($name === 'HTTP_HOST' || !\in_array($name, self::NOT_REPEATED, true)))), \ARRAY_FILTER_USE_BOTH);
    }

    /**
     * @param array<array-key, mixed> $variables of the visitor's request
     * @param float                   $wait      seconds to wait for the answer, once the visitor has his
     *
     * @return bool false: this server cannot be asked
     */
    public static function request(array $variables, string $token, float $wait): bool
    {
        $variable = static fn(string $name): string => \is_string($variables[$name] ?? null) ? $variables[$name] : '';
        if (\str_starts_with($variable('SERVER_SOFTWARE'), 'Apache') && \str_contains($variable('HTTP_HOST'), ':')) {
            // Apache takes the port from the visitor (UseCanonicalName Off, its default), who could have any port asked.
            return false;
        }
        $isFinished = Sapi::finish() || \PHP_SAPI === 'cli';
        \ignore_user_abort(true);
        $address = $variable('SERVER_ADDR');
        $isTls = $variable('HTTPS') !== '' && \strcasecmp($variable('HTTPS'), 'off') !== 0;
        $host = match (true) {
            \str_starts_with($address, 'unix:') => 'unix://' . \substr($address, 5),
            $address === '', $address === '0.0.0.0' => 'tcp://127.0.0.1:' . $variable('SERVER_PORT'),
            default => 'tcp://' . (\str_contains($address, ':') ? '[' . \trim($address, '[]') . ']' : $address) . ':' . $variable('SERVER_PORT'),
        };
        // It is this server's own address, whatever name its certificate has.
        $context = \stream_context_create(['ssl' => ['peer_name' => \explode(':', $variable('HTTP_HOST'))[0], 'verify_peer' => false, 'verify_peer_name' => false]]);
        $socket = @\stream_socket_client($isTls ? 'tls' . \substr($host, 3) : $host, $code, $message, self::TIMEOUT, \STREAM_CLIENT_CONNECT, $context);
        if ($socket === false) {
            return false;
        }
        $head = 'GET ' . $variable('REQUEST_URI') . " HTTP/1.1\r\nHost: " . $variable('HTTP_HOST') . "\r\n";
        foreach ($variables as $name => $value) {
            if (\is_string($name) && \is_string($value) && \str_starts_with($name, 'HTTP_') && !\in_array($name, self::NOT_REPEATED, true) && \preg_match('/[\r\n\0]/', $value) === 0) {
                $head .= \ucwords(\strtolower(\strtr(\substr($name, 5), '_', '-')), '-') . ": $value\r\n";
            }
        }
        $head .= 'Larder-Renewal: ' . $token . "\r\nConnection: close\r\n\r\n";
        \stream_set_timeout($socket, (int) \ceil($wait) + 1);
        $isSent = \fwrite($socket, $head) === \strlen($head);
        if ($isSent && $isFinished) {
            // nginx stops a request whose client has left. The visitor does not wait: he has his page.
            $isSent = \fread($socket, 1) !== '';
        }
        \fclose($socket);

        return $isSent;
    }
}
