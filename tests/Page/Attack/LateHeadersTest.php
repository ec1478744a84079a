<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use PHPUnit\Framework\Attributes\CoversNothing;

/** Headers that the application sets, or that only Larder reads, when PHP sends them. */
#[CoversNothing]
final class LateHeadersTest extends ScriptCase
{
    private const LATE = "header_register_callback(static function () { header('Set-Cookie: user=7'); header('Cache-Control: private'); });";

    /** What is private may be said after the page cache has looked. */
    public function testAHeaderThatIsSetWhenItIsSent(): void
    {
        $answer = $this->assertNeverStored($this->script(self::PAGE . self::LATE . "echo 'page';"), 'page', 'header_register_callback');
        self::assertSame([['user=7'], ['private']], [$answer->headers['set-cookie'] ?? null, $answer->headers['cache-control'] ?? null]);
        self::assertFalse($this->isBuilt());
    }

    /** The same in a page that is sent in parts: its header is sent before its end. */
    public function testAHeaderThatIsSetBeforeTheEnd(): void
    {
        foreach (['ob_flush();', 'ob_flush(); flush();', 'while (ob_get_level() > 1) { ob_end_flush(); } ob_flush(); flush();'] as $flush) {
            $this->assertNeverStored($this->script(self::PAGE . self::LATE . "echo 'pa'; $flush echo 'ge';"), 'page', 'uri-miss');
        }
    }

    public function testAPageThatIsSentInPartsWithoutSuchAFunctionIsStored(): void
    {
        $this->assertStored($this->script(self::PAGE . "echo 'pa'; ob_flush(); flush(); echo 'ge';"), 'page');
    }

    /** What passes through without being recorded has the same header. */
    public function testAFieldForLarderAlone(): void
    {
        $script = $this->script("header('Larder-Cache-Control: no-store'); header('Vary: Accept'); header('Vary: X-Larder-Device', false); header('X-A: 1'); http_response_code(403); echo 'page';");
        foreach ([[], ['HTTP_COOKIE' => 'session=1']] as $variables) {
            $answer = $this->ask($script, $variables);
            self::assertSame(
                [403, null, ['Accept', 'User-Agent'], ['1']],
                [$answer->status, $answer->headers['larder-cache-control'] ?? null, $answer->headers['vary'] ?? null, $answer->headers['x-a'] ?? null],
            );
        }
    }

    /** PHP's own status stays 200 then, and the web server sends the field's. */
    public function testAStatusThatTheApplicationSetsByAField(): void
    {
        $answer = $this->assertNeverStored($this->script("header('Status: 503 Service Unavailable'); echo 'down';", ['ttl' => 600]), 'down');
        self::assertSame(503, $answer->status);
    }

    public function testAStatusOfAFieldIsStored(): void
    {
        $script = $this->script("header('Status: 404 Not Found'); echo 'none';", ['ttl' => 600]);
        self::assertSame(404, $this->assertStored($script, 'none')->status);
    }

    /** The stored field would stand beside another status. */
    public function testAFieldWithAStatusIsNotStored(): void
    {
        $script = $this->script(self::PAGE . "header('Status: 200 OK'); header('ETag: \"1\"'); echo 'page';");
        self::assertSame(200, $this->assertStored($script, 'page')->status);
        self::assertSame(304, $this->ask($script, ['HTTP_IF_NONE_MATCH' => '"1"'])->status);
    }

    public function testAStatusThatAHandlerSetsByAField(): void
    {
        $script = $this->handler("return new Nyholm\\Psr7\\Response(200, ['Cache-Control' => 'max-age=60', 'Status' => '503 Service Unavailable'], 'down');");
        self::assertSame(503, $this->assertNeverStored($script, 'down', 'Status')->status);
    }
}
