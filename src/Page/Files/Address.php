<?php

declare(strict_types=1);

namespace Larder\Page\Files;

/**
 * Which pages get a file, and where it lies in a bucket.
 *
 *     http://example.org/shop/tea/       http/example.org:80@example.org/shop/tea@.html
 *     http://example.org/shop/tea        http/example.org:80@example.org/shop/tea.html
 *     https://example.org/               https/example.org:443@example.org@.html
 *
 * First come the host as the visitor has spelled it, and the web server's own port and name: it may choose a site by another
 * host than the one that PHP sees (Serve::asked()). The name is made of the URL's bytes as they were sent, and every web server's configuration makes it in the same way. No
 * two URLs have one name: no path has an "@", and none a dot but before htm or html at its end. So nothing that a web
 * server executes can be asked for, and no address leaves the directory.
 */
final class Address
{
    /**
     * The path of a URL: all but a slash at its end, and that slash. A percent-encoded byte is one that a URL must encode,
     * so that nothing has two spellings which an application takes for one. The groups have names, for nginx encodes
     * numbered ones once more.
     */
    public const PATH = '(?<larder_path>(?:/(?:[A-Za-z0-9_~-]++|%[89A-Fa-f][0-9A-Fa-f])++)*+(?:\.html?)?)(?<larder_end>/?)';

    /** What stands in a URL and in a request between its scheme and its path, but for the port. */
    public const HOST = '[a-z0-9._-]+';

    /** The web server's port and name, as a key has them (Serve::asked()). */
    private const SERVER = '(?:\nSERVER ([0-9]+) ([a-z0-9*._-]*))?';

    /** Stands in the place of the slash at a path's end. */
    public const SLASH = '@';

    /** What file systems take, less what is added here. */
    private const LONGEST_SEGMENT = 200;
    private const LONGEST = 1_000;

    private const TYPE = 'text/html; charset=utf-8';

    /** Fields that the web server replaces or no client needs: it says no-cache, since no file has an age. */
    private const LEFT_OUT = [
        'cache-control', 'expires', 'pragma', 'date', 'age', 'last-modified', 'vary', 'x-powered-by', 'server',
        'cdn-cache-control', 'larder-cache-control', 'surrogate-control', 'cache-tags', 'cache-tag', 'surrogate-key', 'cache-groups', 'no-vary-search', 'larder-tags',
    ];

    /**
     * @param string       $key     of the page's requests
     * @param int          $status  of the page
     * @param list<string> $lines   of its header
     * @param list<string> $headers the option staticHeaders
     * @param ?string      $reason  set where it gets no file
     *
     * @return ?string the file's path in a bucket, without its ending
     */
    public static function of(string $key, int $status, array $lines, array $headers, ?string &$reason = null): ?string
    {
        if ($status !== 200) {
            $reason = "its status is $status";

            return null;
        }
        if (\preg_match('{^(https?)://(' . self::HOST . ')(:[0-9]+)?' . self::PATH . self::SERVER . '$}D', $key, $part) !== 1) {
            $reason = 'its key is more than a URL without a query, of letters that need no encoding';

            return null;
        }
        [$port, $name] = isset($part[6], $part[7]) ? [$part[6], $part[7]] : [\ltrim($part[3], ':') ?: ($part[1] === 'http' ? '80' : '443'), $part[2]];
        $path = "$part[1]/$part[2]$part[3]:$port@$name$part[4]" . ($part['larder_end'] === '' ? '' : self::SLASH);
        $reason = \strlen($path) > self::LONGEST || \max(\array_map(\strlen(...), \explode('/', $path))) > self::LONGEST_SEGMENT ? 'its URL is too long' : self::flaw($lines, $headers);

        return $reason === null ? $path : null;
    }

    /**
     * @param list<string> $lines
     * @param list<string> $headers
     */
    private static function flaw(array $lines, array $headers): ?string
    {
        $wanted = $skipped = [];
        foreach ($headers as $header) {
            \str_contains($header, ':') ? $wanted[] = self::normal($header) : $skipped[] = \strtolower($header);
        }
        $found = [];
        $type = '';
        foreach ($lines as $line) {
            [$name, $value] = \explode(': ', self::normal($line), 2) + [1 => ''];
            if ($name === 'content-type') {
                $type = \strtolower(\str_replace(['"', ' '], '', $value));
            } elseif ($name === 'vary' && \preg_match('/^(?:accept-encoding(?:,\s*|$))*$/iD', $value) !== 1) {
                return "it varies by $value";
            } elseif ($name === 'cache-control' && \stripos($value, 'no-transform') !== false) {
                return 'it says no-transform';
            } elseif (\in_array("$name: $value", $wanted, true)) {
                $found[] = "$name: $value";
            } elseif (!\in_array($name, self::LEFT_OUT, true) && !\in_array($name, $skipped, true)) {
                return "the web server does not send \"$name\" (staticHeaders)";
            }
        }

        return match (true) {
            $type !== \str_replace(' ', '', self::TYPE) => 'it is not of the type ' . self::TYPE,
            \array_diff($wanted, $found) !== [] => 'it does not have all of staticHeaders',
            default => null,
        };
    }

    /** A line of a header with its name in small letters. */
    private static function normal(string $line): string
    {
        [$name, $value] = \explode(':', $line, 2) + [1 => ''];

        return \strtolower(\trim($name)) . ': ' . \trim($value);
    }
}
