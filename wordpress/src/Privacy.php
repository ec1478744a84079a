<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions -- the file is written as PHP itself would write the cache; by FTP it would prove nothing

namespace Larder\WordPress;

/** Asks this site's own web server for a file in the directory of the cache. */
final class Privacy
{
    /** Of the files that matter there, so that a rule for one kind of file does not deceive. */
    private const ENDING = '.db';

    /** Seconds. */
    private const PATIENCE = 5;

    /** @return array{string, ?bool} the address, '' where it has none; whether the file was given, null: not known */
    public static function ask(string $directory): array
    {
        $url = self::url($directory);
        if ($url === '') {
            return ['', null];
        }
        $text = \bin2hex(\random_bytes(16));
        $name = '/probe-' . \bin2hex(\random_bytes(8)) . self::ENDING;
        if (Quietly::call(static fn(): int|false => \file_put_contents($directory . $name, $text)) === false) {
            return [$url, null];
        }
        try {
            $answer = \wp_remote_get($url . $name, [
                'timeout' => self::PATIENCE,
                // As WordPress asks itself: many a site does not know its own certificate.
                'sslverify' => (bool) \apply_filters('https_local_ssl_verify', false, $url),
                'headers' => ['Cache-Control' => 'no-cache'],
            ]);
        } finally {
            Quietly::call(static fn(): bool => \unlink($directory . $name));
        }

        return [$url . $name, \is_wp_error($answer) ? null : \str_contains(\wp_remote_retrieve_body($answer), $text)];
    }

    /** What the directory's address would be; '' it lies in nothing that is served, as far as WordPress knows. */
    private static function url(string $directory): string
    {
        $served = [WP_CONTENT_DIR => \content_url(), ABSPATH => \site_url()];
        // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- the server's own, not the client's
        $root = $_SERVER['DOCUMENT_ROOT'] ?? '';
        if (\is_string($root) && $root !== '') {
            $parts = \wp_parse_url(\home_url());
            $port = \is_array($parts) && isset($parts['port']) ? ':' . $parts['port'] : '';
            $served[$root] = \is_array($parts) ? ($parts['scheme'] ?? 'http') . '://' . ($parts['host'] ?? '') . $port : '';
        }
        foreach ($served as $path => $url) {
            if ($url !== '' && DataDirectory::isWithin($directory, $path)) {
                $path = (string) (\realpath($path) ?: $path);
                $inside = \substr((string) (\realpath($directory) ?: $directory), \strlen(\rtrim($path, '/')));

                return \rtrim($url, '/') . \implode('/', \array_map(\rawurlencode(...), \explode('/', $inside)));
            }
        }

        return '';
    }
}
