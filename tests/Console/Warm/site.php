<?php

// A site for page:warm to ask, in one process that serves many at a time. Prints its port, then a line of JSON for each
// request that it has got: its target, its fields, and how many were open with it.
//
// php site.php [CERTIFICATE], a file with a certificate and its key: it speaks TLS then.

declare(strict_types=1);

$context = \stream_context_create(isset($argv[1]) ? ['ssl' => ['local_cert' => $argv[1]]] : []);
$server = \stream_socket_server('tcp://127.0.0.1:0', $code, $message, \STREAM_SERVER_BIND | \STREAM_SERVER_LISTEN, $context) ?: exit(1);
$port = (int) \substr((string) \strrchr((string) \stream_socket_get_name($server, false), ':'), 1);
echo "$port\n";

/** The answer to a target that is asked for the n-th time: bytes, and after how many seconds; null: never. */
$answer = static function (string $target, int $time) use ($port): ?array {
    $origin = "http://127.0.0.1:$port";
    $page = static fn(string $body, string $header = '', string $status = '200 OK'): string => "HTTP/1.1 $status\r\nContent-Length: " . \strlen($body) . "\r\n{$header}\r\n$body";
    $map = static fn(string $root, string $item, string ...$paths): string => "<?xml version=\"1.0\"?>\n<$root xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
        . \implode('', \array_map(static fn(string $path): string => "<$item><loc>" . \htmlspecialchars(\str_starts_with($path, 'http') ? $path : $origin . $path, \ENT_XML1) . "</loc></$item>", $paths)) . "</$root>\n";
    \parse_str((string) \parse_url($target, \PHP_URL_QUERY), $query);

    return match (\parse_url($target, \PHP_URL_PATH)) {
        '/index.xml' => [$page($map('sitemapindex', 'sitemap', '/packed.xml.gz', '/moved.xml', '/missing.xml', '/chunked.xml', '/packed.xml.gz', 'http://elsewhere.example/map.xml')), 0],
        '/packed.xml.gz' => [$page((string) \gzencode($map('urlset', 'url', '/a', '/b?x=1&y=2', '/a', 'http://elsewhere.example/'))), 0],
        '/moved.xml' => ["HTTP/1.1 301 Moved\r\nLocation: /urls.txt\r\nContent-Length: 0\r\n\r\n", 0],
        '/urls.txt' => [$page("$origin/c\r\n$origin/d\r\n"), 0],
        '/chunked.xml' => ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" . \implode('', \array_map(static fn(string $part): string => \dechex(\strlen($part)) . "\r\n$part\r\n", \str_split($map('urlset', 'url', '/e'), 50))) . "0\r\n\r\n", 0],
        '/loop.xml' => ["HTTP/1.1 302 Found\r\nLocation: /loop.xml\r\nContent-Length: 0\r\n\r\n", 0],
        '/missing.xml' => [$page('', status: '404 Not Found'), 0],
        '/busy' => $time < 2 ? [$page('', "Retry-After: 0\r\n", '503 Service Unavailable'), 0] : [$page('page'), 0],
        '/broken' => [$page('', "Retry-After: 0\r\n", '500 Internal Server Error'), 0],
        '/cut' => ["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123", 0],
        '/nothing' => ['', 0],
        '/nonsense' => ["SSH-2.0-OpenSSH\r\n\r\n", 0],
        '/never' => null,
        default => [$page(\str_repeat('page', 50_000), isset($query['status']) ? "Cache-Status: $query[status]\r\n" : ''), (float) ($query['after'] ?? 0)],
    };
};

$open = $times = [];
while (true) {
    $read = [$server, ...\array_column(\array_filter($open, static fn(array $one): bool => $one['due'] === null), 'stream')];
    $write = $except = null;
    @\stream_select($read, $write, $except, 0, 5_000);
    foreach ($read as $stream) {
        if ($stream === $server) {
            $client = @\stream_socket_accept($server, 0);
            if (\is_resource($client)) {
                if (isset($argv[1]) && @\stream_socket_enable_crypto($client, true, \STREAM_CRYPTO_METHOD_TLS_SERVER) !== true) {
                    \fclose($client);
                    continue;
                }
                $open[\get_resource_id($client)] = ['stream' => $client, 'text' => '', 'due' => null, 'answer' => ''];
            }
            continue;
        }
        $id = \get_resource_id($stream);
        $bytes = (string) \fread($stream, 8_192);
        $open[$id]['text'] .= $bytes;
        if ($bytes === '' && \feof($stream)) {
            \fclose($stream);
            unset($open[$id]);
        } elseif (\str_contains($open[$id]['text'], "\r\n\r\n")) {
            $lines = \explode("\r\n", \trim($open[$id]['text']));
            $target = \explode(' ', $lines[0])[1];
            $what = $answer($target, $times[$target] ?? 0);
            $times[$target] = ($times[$target] ?? 0) + 1;
            [$open[$id]['answer'], $after] = $what ?? ['', 3_600.0];
            $open[$id]['due'] = \hrtime(true) + (int) ($after * 1e9);
            echo \json_encode(['target' => $target, 'lines' => \array_slice($lines, 1), 'open' => \count($open)], \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES), "\n";
        }
    }
    foreach ($open as $id => $one) {
        if ($one['due'] !== null && $one['due'] <= \hrtime(true)) {
            \fwrite($one['stream'], $one['answer']);
            \fclose($one['stream']);
            unset($open[$id]);
        }
    }
}
