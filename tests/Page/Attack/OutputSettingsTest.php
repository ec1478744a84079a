<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use PHPUnit\Framework\Attributes\CoversNothing;

/** Under the settings of php.ini that change output on its way, and that add to requests. */
#[CoversNothing]
final class OutputSettingsTest extends ScriptCase
{
    protected const INI = ['zlib.output_compression' => 'On', 'output_buffering' => 4096, 'arg_separator.input' => ';&', 'register_argc_argv' => 'On', 'request_order' => 'CGP', 'default_charset' => '', 'session.cache_limiter' => ''];

    /** Compressed twice, and the length was that of the first time. */
    public function testAPageUnderPhpsOwnCompression(): void
    {
        $page = \str_repeat('page ', 200);
        $script = $this->script(self::PAGE . "header('Content-Type: text/html'); echo str_repeat('page ', 200);");
        foreach ([1, 2] as $time) {
            $answer = $this->ask($script, ['HTTP_ACCEPT_ENCODING' => 'gzip']);
            self::assertSame($page, \gzdecode($answer->body));
            self::assertSame([['gzip'], [(string) \strlen($answer->body)]], [$answer->headers['content-encoding'], $answer->headers['content-length']]);
            $answer = $this->ask($script);
            self::assertSame([$page, false], [$answer->body, isset($answer->headers['content-encoding'])]);
        }
        self::assertSame(1, $this->runs());
    }

    /** What is not stored is still compressed by PHP, as without the cache. */
    public function testAPrivatePageUnderPhpsOwnCompression(): void
    {
        $answer = $this->ask($this->script("header('Cache-Control: private'); echo str_repeat('page ', 200);"), ['HTTP_ACCEPT_ENCODING' => 'gzip']);
        self::assertSame(\str_repeat('page ', 200), \gzdecode($answer->body));
    }

    /** The application compresses too. */
    public function testObGzhandler(): void
    {
        $script = $this->script("ini_set('zlib.output_compression', '0'); ob_start('ob_gzhandler'); " . self::PAGE . "echo str_repeat('page ', 200);");
        foreach ([1, 2] as $time) {
            self::assertSame(\str_repeat('page ', 200), \gzdecode($this->ask($script, ['HTTP_ACCEPT_ENCODING' => 'gzip'])->body));
            self::assertSame(\str_repeat('page ', 200), $this->ask($script)->body);
        }
    }

    /** Parameter cloaking with PHP's own second separator (CVE-2021-23336 in PHP's clothes). */
    public function testASemicolonThatSeparatesParameters(): void
    {
        $script = $this->script(self::PAGE . 'echo json_encode([$_GET, $_REQUEST, $_SERVER["argv"] ?? []]);', ['ignoredQuery' => ['utm_*']]);
        $this->ask($script, target: '/?utm_source=1;id=evil');
        self::assertStringNotContainsString('evil', $this->ask($script)->body);
        self::assertStringContainsString('"id":"2"', $this->ask($script, target: '/?id=1;id=2')->body);
        self::assertStringContainsString('"id":"1"', $this->ask($script, target: '/?id=1')->body);
    }

    /** A cookie in $_REQUEST, over the parameter of the same name. */
    public function testACookieInRequest(): void
    {
        $script = $this->script(self::PAGE . 'echo json_encode($_REQUEST);', ['ignoredCookies' => ['id'], 'varyCookies' => ['currency']]);
        self::assertSame('{"id":"1","currency":"EUR"}', \json_encode(\array_merge(['id' => null], (array) \json_decode($this->ask($script, ['HTTP_COOKIE' => 'id=evil; currency=EUR'], target: '/?id=1')->body, true))));
        self::assertSame('[]', $this->ask($script, ['HTTP_COOKIE' => 'id=evil'])->body);
    }

    /** A session, with its cookie: it is private although PHP was told to send no Cache-Control for it. */
    public function testASessionWithoutItsCacheLimiter(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . 'session_start(); $_SESSION["user"] ??= bin2hex(random_bytes(8)); echo $_SESSION["user"];'), why: 'private');
    }

    /** A session without a cookie, its id in the URLs: every link of the page has it. */
    public function testASessionInTheUrls(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "ini_set('session.use_cookies', '0'); ini_set('session.use_only_cookies', '0'); ini_set('session.use_trans_sid', '1'); session_start(); echo '<a href=\"/x\">';"), why: 'private');
    }

    /** Output longer than php.ini's buffer, and longer than what is stored, comes whole and is not kept in memory. */
    public function testADownload(): void
    {
        $script = $this->script(self::PAGE . "ini_set('zlib.output_compression', '0'); ini_set('memory_limit', '24M'); header('Content-Type: application/zip'); for (\$i = 0; \$i < 64; \$i++) { echo str_repeat('x', 1 << 20); } ", ['largest' => 1 << 20]);
        self::assertSame(64 << 20, \strlen($this->ask($script)->body));
        self::assertSame(64 << 20, \strlen($this->ask($script)->body));
        self::assertSame(2, $this->runs());
    }

    /** The same by readfile(), which PHP gives to buffers in pieces. */
    public function testReadfile(): void
    {
        $script = $this->script(self::PAGE . "ini_set('zlib.output_compression', '0'); ini_set('memory_limit', '48M'); \$file = tempnam(sys_get_temp_dir(), 'larder'); ftruncate(fopen(\$file, 'r+'), 64 << 20); readfile(\$file); unlink(\$file);");
        self::assertSame(64 << 20, \strlen($this->ask($script)->body));
        self::assertSame(64 << 20, \strlen($this->ask($script)->body));
        self::assertSame(2, $this->runs());
    }

    /** A stream without an end (events): its parts reach the visitor as they come, and nobody waits for the page that it is not. */
    public function testAStreamOfEvents(): void
    {
        $script = $this->script("ini_set('zlib.output_compression', '0'); header('Content-Type: text/event-stream'); header('Cache-Control: no-cache'); while (ob_get_level() > 2) { ob_end_flush(); } echo 'data: 1'; ob_flush(); flush(); \$other = " . '$_SERVER["HTTP_X_SECOND"] ?? null' . "; if (!\$other) { sleep(20); }", ['wait' => 20]);
        $stream = self::fpm()->connect();
        $stream->send($script, parameters: ['HTTP_HOST' => 'shop.example', 'REQUEST_URI' => '/', 'QUERY_STRING' => '']);
        while ($this->runs() === 0 || $this->isBuilt()) {
            \usleep(1_000);
        }
        self::assertSame('data: 1', $this->ask($script, ['HTTP_X_SECOND' => '1'])->body);
        $stream->close();
    }
}
