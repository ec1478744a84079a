<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

/**
 * The application behind the page cache: it passes each request on to an origin server, and the origin's response back,
 * field by field and byte by byte.
 *
 * It takes the request from $_SERVER as it finds it, for the page cache may have changed that.
 */
final readonly class Forwarder
{
    /** Fields of a request that belong to one connection (RFC 9110, section 7.6.1), and those that are sent anew. */
    private const NOT_FORWARDED = ['HTTP_CONNECTION', 'HTTP_KEEP_ALIVE', 'HTTP_TE', 'HTTP_TRANSFER_ENCODING', 'HTTP_UPGRADE', 'HTTP_CONTENT_LENGTH', 'HTTP_CONTENT_TYPE'];

    /** Fields of a response that say how its body was sent to this process. */
    private const OF_TRANSFER = ['keep-alive', 'transfer-encoding'];

    /** Seconds. */
    private const PATIENCE = 30;

    /** @param string $origin "tcp://127.0.0.1:8000" */
    public function __construct(private string $origin) {}

    public function answer(): void
    {
        $response = $this->ask($this->request());
        [$head, $body] = \explode("\r\n\r\n", $response, 2) + [1 => ''];
        $fields = \explode("\r\n", $head);
        $status = \array_shift($fields);
        $body = self::body($status, $fields, $body);
        if ($body === null) {
            \header('HTTP/1.1 502 Bad Gateway');

            return;
        }
        foreach ($fields as $field) {
            $name = \strtolower(\strstr($field, ':', true) ?: '');
            // PHP's own responses have no Connection either; one with names of fields in it is the page cache's to see.
            if (!\in_array($name, self::OF_TRANSFER, true) && \preg_match('/^connection:\s*(close|keep-alive)?$/i', $field) !== 1) {
                \header($field, false);
            }
        }
        // Last, for header() sets a status by itself at Location and WWW-Authenticate (php-src, main/SAPI.c).
        \header($status);
        echo $body;
    }

    private function request(): string
    {
        $request = self::variable('REQUEST_METHOD') . ' ' . self::variable('REQUEST_URI') . " HTTP/1.1\r\n";
        foreach ($_SERVER as $name => $value) {
            if (\is_string($name) && \is_string($value) && \str_starts_with($name, 'HTTP_') && !\in_array($name, self::NOT_FORWARDED, true)) {
                $request .= \strtr(\substr($name, 5), '_', '-') . ": $value\r\n";
            }
        }
        if (self::variable('CONTENT_TYPE') !== '') {
            $request .= 'Content-Type: ' . self::variable('CONTENT_TYPE') . "\r\n";
        }
        $body = (string) \file_get_contents('php://input');
        if ($body !== '' || self::variable('CONTENT_LENGTH') !== '') {
            $request .= 'Content-Length: ' . \strlen($body) . "\r\n";
        }

        return "{$request}Connection: close\r\n\r\n$body";
    }

    private function ask(string $request): string
    {
        $origin = \stream_socket_client($this->origin, timeout: self::PATIENCE);
        if ($origin === false) {
            return '';
        }
        \stream_set_timeout($origin, self::PATIENCE);
        for ($sent = 0; $sent < \strlen($request); $sent += $written) {
            $written = (int) \fwrite($origin, \substr($request, $sent));
            if ($written === 0) {
                return '';
            }
        }

        return (string) \stream_get_contents($origin);
    }

    /**
     * @param list<string> $fields
     *
     * @return ?string null where the origin broke off
     */
    private static function body(string $status, array $fields, string $sent): ?string
    {
        if (\preg_match('~^HTTP/1\.1 (\d{3})~', $status, $found) !== 1) {
            return null;
        }
        if ($found[1] === '204' || $found[1] === '304' || self::variable('REQUEST_METHOD') === 'HEAD') {
            return '';
        }
        foreach ($fields as $field) {
            if (\preg_match('/^transfer-encoding:\s*chunked$/i', $field) === 1) {
                return self::dechunked($sent);
            }
        }
        foreach ($fields as $field) {
            if (\preg_match('/^content-length:\s*(\d+)$/i', $field, $found) === 1) {
                return \strlen($sent) < (int) $found[1] ? null : \substr($sent, 0, (int) $found[1]);
            }
        }

        return $sent;
    }

    /** @return ?string null where the last chunk is missing */
    private static function dechunked(string $sent): ?string
    {
        $body = '';
        while (\preg_match('/^([0-9a-f]+)[^\r\n]*\r\n/i', $sent, $found) === 1) {
            $size = (int) \hexdec($found[1]);
            if ($size === 0) {
                return $body;
            }
            $body .= \substr($sent, \strlen($found[0]), $size);
            $sent = \substr($sent, \strlen($found[0]) + $size + 2);
        }

        return null;
    }

    private static function variable(string $name): string
    {
        $value = $_SERVER[$name] ?? '';

        return \is_string($value) ? $value : '';
    }
}
