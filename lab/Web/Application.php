<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

/** The small site that the scenario `pages` caches: an article list of a given length, and a login form. */
final class Application
{
    /** By path: bytes of the page. */
    public const PAGES = ['/page-100' => 102_400, '/page-35' => 35_840, '/page-15' => 15_360];

    public const LOGIN = '/login';

    /** What it says of a page's life. */
    public const FIELDS = ['Content-Type: text/html; charset=utf-8', 'Cache-Control: public, s-maxage=3600, max-age=60'];

    /**
     * The page, the same at each call. It is put together word by word, as a template is: with PHP 8.2 a page of 35 kB takes
     * some milliseconds.
     */
    public static function page(int $bytes): string
    {
        $words = ['cache', 'page', 'server', 'memory', 'reader', 'writer', 'process', 'request', 'answer', 'visitor', 'journal', 'article'];
        $html = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Articles</title><body><ul>';
        $random = 7;
        for ($i = 1; \strlen($html) < $bytes - 400; $i++) {
            $text = '';
            for ($word = 0; $word < 30; $word++) {
                $random = ($random * 1_103_515_245 + 12_345) & 0x7FFFFFFF;
                $text .= \htmlspecialchars(\ucfirst($words[($random >> 8) % 12])) . ' ';
            }
            $html .= \sprintf('<li id="a%d"><a href="/article/%d">%s</a><p>%s</p></li>', $i, $i, \md5((string) $random), \rtrim($text));
        }

        return \str_pad($html, $bytes - 14) . '</body></html>';
    }

    /** The dynamic page: it gives each visitor a cookie and a token of his own. */
    public static function login(): string
    {
        $token = \bin2hex(\random_bytes(16));
        \header('Set-Cookie: visit=' . $token . '; path=/; HttpOnly');
        \header('Cache-Control: no-store');

        return \substr_replace(self::page(self::PAGES['/page-15']), "<form method=post><input type=hidden name=token value=$token></form>", 80, 0);
    }

    public static function run(): void
    {
        $path = \explode('?', \is_string($_SERVER['REQUEST_URI'] ?? null) ? $_SERVER['REQUEST_URI'] : '', 2)[0];
        if ($path === self::LOGIN) {
            echo self::login();

            return;
        }
        if (!isset(self::PAGES[$path])) {
            \http_response_code(404);

            return;
        }
        foreach (self::FIELDS as $field) {
            \header($field);
        }
        echo self::page(self::PAGES[$path]);
    }
}
