<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;

/** What PHP itself knows of a page: its sessions, and what header() and setcookie() have set, behind start() and behind the middleware. */
#[CoversNothing]
final class SessionsTest extends ScriptCase
{
    protected const INI = ['session.cache_limiter' => '', 'session.use_cookies' => '0', 'session.use_only_cookies' => '0'];

    /** @return iterable<string, array{string}> code that sets $token, which no other visitor may see */
    public static function sessions(): iterable
    {
        yield 'open' => ['session_start(); $token = session_id();'];
        yield 'closed' => ['session_start(); $token = session_id(); session_write_close();'];
        yield 'aborted' => ['session_start(); $token = session_id(); session_abort();'];
        yield 'destroyed' => ['session_start(); $token = session_id(); session_destroy();'];
        yield 'destroyed, and no longer in $_SESSION' => ['session_start(); $token = session_id(); session_destroy(); unset($_SESSION);'];
        yield 'closed, and its id forgotten' => ['session_start(); $token = session_id(); session_write_close(); session_id("");'];
        yield 'no session of PHP, but $_SESSION' => ['$_SESSION["token"] ??= bin2hex(random_bytes(8)); $token = $_SESSION["token"];'];
    }

    #[DataProvider('sessions')]
    public function testASessionBehindStart(string $code): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "$code echo \$token;"), why: 'private');
    }

    #[DataProvider('sessions')]
    public function testASessionBehindTheMiddleware(string $code): void
    {
        $this->assertNeverStored($this->handler("$code return new Nyholm\\Psr7\\Response(200, ['Cache-Control' => 'max-age=60'], \$token);"), why: 'private');
    }

    /** Links that PHP itself has put the session's id into (session.use_trans_sid). */
    public function testADestroyedSessionInTheLinks(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "ini_set('session.use_trans_sid', '1'); session_start(); session_destroy(); echo '<a href=\"/x\">';"), why: 'private');
    }

    /** @return iterable<string, array{string, string}> code, and the reason */
    public static function headers(): iterable
    {
        yield 'a cookie' => ['setcookie("id", "1");', 'Set-Cookie'];
        yield 'a private page' => ['header("Cache-Control: private");', 'private'];
        yield 'a page that depends on anything' => ['header("Vary: *");', 'Vary'];
        yield 'a file' => ['header("X-Sendfile: /file");', 'x-sendfile'];
    }

    #[DataProvider('headers')]
    public function testAHeaderThatTheMiddlewareDoesNotSend(string $code, string $why): void
    {
        $this->assertNeverStored($this->handler("$code return new Nyholm\\Psr7\\Response(200, ['Cache-Control' => 'max-age=60'], 'page');"), why: $why);
    }

    /** What PHP sends beside a response is judged, and is no part of what is stored: PHP sends it each time. */
    public function testAHarmlessHeaderThatTheMiddlewareDoesNotSend(): void
    {
        $script = $this->handler("header('Vary: X-Device'); header('X-Native: 1'); return new Nyholm\\Psr7\\Response(200, ['Cache-Control' => 'max-age=60'], 'of ' . \$request->getHeaderLine('X-Device'));");
        $answer = $this->ask($script, ['HTTP_X_DEVICE' => 'phone']);
        self::assertSame(['of phone', ['1']], [$answer->body, $answer->headers['x-native']]);
        self::assertSame('of desk', $this->ask($script, ['HTTP_X_DEVICE' => 'desk'])->body, 'Vary counts.');
        $answer = $this->ask($script, ['HTTP_X_DEVICE' => 'phone']);
        self::assertStringContainsString('; hit', $answer->headers['cache-status'][0]);
        self::assertSame(['of phone', 2], [$answer->body, $this->runs()]);
    }

    /** @return iterable<string, array{string, bool}> code that sends a header by itself, or tries to; and whether that makes the page private */
    public static function lateHeaders(): iterable
    {
        yield 'nothing' => ['', false];
        yield 'a cookie' => ['setcookie("id", "1");', true];
        yield 'a cookie, quietly' => ['@setcookie("id", "1");', true];
        yield 'a private page' => ['header("Cache-Control: private");', true];
        yield 'a session with a cookie' => ['session_start(["use_cookies" => 1]);', true];
        yield 'a session without one' => ['session_start();', true];
        yield 'a cookie, and a handler of errors of its own' => ['set_error_handler(static fn(): bool => false); setcookie("id", "1");', true];
        yield 'another error' => ['echo $undefined;', false];
    }

    /** The middleware renews a stale page when the visitor has his answer: PHP sends no header any more, and the page may be private. */
    #[DataProvider('lateHeaders')]
    public function testAPageThatTurnsPrivateWhileItIsRenewed(string $code, bool $isPrivate): void
    {
        $script = $this->handler("if (\$request->hasHeader('X-First')) {
            return new Nyholm\\Psr7\\Response(200, ['Cache-Control' => 'max-age=60, stale-while-revalidate=60', 'Age' => '100', 'ETag' => '\"1\"'], 'page');
        }
        $code
        return new Nyholm\\Psr7\\Response(200, ['Cache-Control' => 'max-age=60'], 'of one visitor');");
        $this->ask($script, ['HTTP_X_FIRST' => '1']);
        self::assertSame('page', $this->ask($script)->body);
        while ($this->runs() < 2 || $this->isBuilt()) {
            \usleep(1_000);
        }
        $status = $this->ask($script)->headers['cache-status'][0];
        self::assertSame($isPrivate ? 3 : 2, $this->runs(), $status);
        self::assertStringStartsWith($isPrivate ? 'Larder; fwd=uri-miss' : 'Larder; hit', $status);
        self::assertStringNotContainsString('ttl=-', $status);
    }
}
