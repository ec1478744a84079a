<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;

/** Requests as PHP itself shows them to a script: in $_SERVER, $_GET, $_COOKIE, $_REQUEST and php://input. */
#[CoversNothing]
final class ScriptRequestsTest extends ScriptCase
{
    /** The whole request, as scripts may print it. */
    private const PRINT = self::PAGE . <<<'PHP'
         ksort($_GET); echo json_encode([$_GET, $_COOKIE, $_REQUEST, file_get_contents('php://input'), array_intersect_key($_SERVER, array_flip(
            ['REQUEST_METHOD', 'REQUEST_URI', 'QUERY_STRING', 'HTTP_HOST', 'HTTP_COOKIE', 'HTTP_X_FORWARDED_HOST', 'HTTP_X_ORIGINAL_URL', 'argv', 'REDIRECT_QUERY_STRING', 'PHP_AUTH_USER']))], JSON_PARTIAL_OUTPUT_ON_ERROR);
        PHP;

    /** Basic authentication as php-fpm gets it, and as Apache passes it on after one rewrite and after two. */
    #[TestWith(['HTTP_AUTHORIZATION', 'Basic YWRtaW46YWRtaW4='])]
    #[TestWith(['HTTP_AUTHORIZATION', 'Digest username="admin", realm="x"'])]
    #[TestWith(['HTTP_AUTHORIZATION', 'Bearer x'])]
    #[TestWith(['HTTP_AUTHORIZATION', '0'])]
    #[TestWith(['REDIRECT_HTTP_AUTHORIZATION', 'Basic x'])]
    #[TestWith(['REDIRECT_REDIRECT_HTTP_AUTHORIZATION', 'Basic x'])]
    #[TestWith(['REMOTE_USER', 'admin'])]
    #[TestWith(['REDIRECT_REMOTE_USER', 'admin'])]
    #[TestWith(['PHP_AUTH_USER', 'admin'])]
    #[TestWith(['PHP_AUTH_DIGEST', 'x'])]
    #[TestWith(['SSL_CLIENT_S_DN', 'CN=admin'])]
    #[TestWith(['HTTP_COOKIE', 'PHPSESSID=x'])]
    #[TestWith(['HTTP_COOKIE', 'wordpress_logged_in_x=x'])]
    public function testAVisitorWhoIsKnown(string $name, string $value): void
    {
        $script = $this->script(self::PRINT);
        $this->ask($script);
        $this->ask($script, [$name => $value]);
        $this->ask($script, [$name => $value]);
        self::assertSame(3, $this->runs());
    }

    /** Whoever changes the request changes his own page, or none. */
    #[TestWith([['HTTP_HOST' => 'shop.example:1337']])]
    #[TestWith([['HTTP_HOST' => 'evil.example']])]
    #[TestWith([['HTTP_HOST' => 'SHOP.EXAMPLE']])]
    #[TestWith([['HTTP_HOST' => 'shop.example:80']])]
    #[TestWith([['HTTP_HOST' => 'shop.example.']])]
    #[TestWith([['HTTP_HOST' => "shop.example\n"]])]
    #[TestWith([['HTTP_HOST' => 'shop.example, evil.example']])]
    #[TestWith([['HTTP_HOST' => '']])]
    #[TestWith([['REQUEST_URI' => 'http://evil.example/']])]
    #[TestWith([['REQUEST_URI' => '//evil.example/']])]
    #[TestWith([['REQUEST_URI' => '']])]
    #[TestWith([['REQUEST_URI' => "/\n"]])]
    #[TestWith([['REQUEST_URI' => "/\0"]])]
    #[TestWith([['REQUEST_URI' => '/#x']])]
    #[TestWith([['REQUEST_URI' => '\\']])]
    #[TestWith([['HTTP_X_FORWARDED_HOST' => 'evil.example']])]
    #[TestWith([['HTTP_X_ORIGINAL_URL' => '/admin']])]
    #[TestWith([['REQUEST_METHOD' => 'HEAD']])]
    #[TestWith([['REQUEST_METHOD' => 'get']])]
    #[TestWith([['REQUEST_METHOD' => 'QUERY']])]
    #[TestWith([['REQUEST_METHOD' => '']])]
    #[TestWith([['REQUEST_METHOD' => 'OPTIONS']])]
    #[TestWith([['HTTP_X_HTTP_METHOD_OVERRIDE' => 'DELETE']])]
    #[TestWith([['HTTP_LARDER_RENEWAL' => 'x']])]
    #[TestWith([['HTTP_COOKIE' => '_ga=evil; CookieConsent=evil']])]
    #[TestWith([['HTTP_COOKIE' => '_ga=1; session=x']])]
    #[TestWith([['HTTP_COOKIE' => '_ga.x=1']])]
    #[TestWith([['HTTP_RANGE' => 'bytes=0-1']])]
    #[TestWith([['HTTP_CACHE_CONTROL' => 'no-store']])]
    #[TestWith([['HTTP_ACCEPT' => 'application/json']])]
    public function testAnotherRequest(array $variables): void
    {
        /** @var array<string, string> $variables */
        $alone = $this->ask($this->script(self::PRINT, ['clientControl' => false]))->body;
        $script = $this->script(self::PRINT);
        $this->ask($script, $variables);
        $this->ask($script, $variables);
        self::assertSame($alone, \str_replace('shop.example/', 'shop.example/', $this->ask($script)->body));
        self::assertSame($alone, $this->ask($script)->body);
    }

    /** A GET with a body, of which a script reads parameters. */
    public function testABodyInAGet(): void
    {
        $script = $this->script(self::PRINT);
        self::assertStringContainsString('user=evil', $this->ask($script, body: 'user=evil')->body);
        self::assertStringNotContainsString('evil', $this->ask($script)->body);
    }

    /** Parameters that the owner ignores: a script sees them nowhere, in whatever spelling that the cache takes for them. */
    #[TestWith(['/?utm_source=evil'])]
    #[TestWith(['/?utm_source[]=evil'])]
    #[TestWith(['/?utm_source=evil&utm_source=evil2'])]
    #[TestWith(['/?utm_evil'])]
    #[TestWith(['/?utm_=evil'])]
    public function testAnIgnoredParameter(string $target): void
    {
        $script = $this->script(self::PRINT, ['ignoredQuery' => ['utm_*']]);
        self::assertStringNotContainsString('evil', $this->ask($script, ['REDIRECT_QUERY_STRING' => 'utm_source=evil'], target: $target)->body);
        self::assertStringContainsString('hit', $this->ask($script)->headers['cache-status'][0]);
    }

    /** filter_input() reads the request as it came, and no script can change what it sees. */
    #[TestWith(['%3Cscript%3Eevil'])]
    #[TestWith(['%22onload=evil'])]
    #[TestWith(['evil%0A'])]
    #[TestWith(["'evil"])]
    #[TestWith(['evil()'])]
    #[TestWith(['%7Bevil%7D'])]
    #[TestWith(['evil%20evil'])]
    #[TestWith(['%5Cevil'])]
    #[TestWith(['evil%C3%A9'])]
    public function testAnIgnoredParameterThatIsReadPastTheCache(string $value): void
    {
        $script = $this->script(self::PAGE . "echo 'page ', filter_input(INPUT_GET, 'utm_source');", ['ignoredQuery' => ['utm_*']]);
        self::assertStringContainsString('evil', $this->ask($script, target: "/?utm_source=$value")->body, 'The visitor gets what the application makes for him.');
        self::assertSame('page ', $this->ask($script)->body);
        self::assertSame('page ', $this->ask($script, target: "/?utm_source=$value")->body, 'What is stored answers it.');
        self::assertSame(2, $this->runs());
    }

    /** The same in a name, and by php.ini's separators another parameter behind it. */
    #[TestWith(['utm_<evil>=1'])]
    #[TestWith(['utm_%3Cevil%3E'])]
    #[TestWith(['utm_source=1;id=evil'])]
    #[TestWith(['id=1&utm_source=(evil)'])]
    public function testAnIgnoredParameterOfAnyNameThatIsReadPastTheCache(string $query): void
    {
        $script = $this->script(self::PAGE . 'echo "page ", getenv("QUERY_STRING");', ['ignoredQuery' => ['utm_*', 'id']]);
        $this->ask($script, target: "/?$query");
        self::assertSame('page ', $this->ask($script)->body);
    }

    /** @return iterable<string, array{string, string}> an expression that sees the ignored cookies, and cookies */
    public static function ignoredCookies(): iterable
    {
        foreach (['filter_input(INPUT_COOKIE, "_ga")', 'json_encode(getallheaders())', 'getenv("HTTP_COOKIE")'] as $expression) {
            foreach (['_ga=<script>evil', '_ga=%3Cscript%3Eevil', '_fbp=1; _ga=evil"', "_ga=evil'; _fbp=1", '_ga=evil%28%29', '_ga=evil evil', '_ga_<evil>=1; _ga=evil%00'] as $cookies) {
                yield "$expression of $cookies" => [$expression, $cookies];
            }
        }
    }

    #[DataProvider('ignoredCookies')]
    public function testAnIgnoredCookieThatIsReadPastTheCache(string $expression, string $cookies): void
    {
        $script = $this->script(self::PAGE . "echo 'page ', $expression;");
        self::assertStringContainsString('evil', $this->ask($script, ['HTTP_COOKIE' => $cookies])->body);
        $body = $this->ask($script)->body;
        self::assertStringNotContainsString('evil', $body);
        self::assertSame($body, $this->ask($script, ['HTTP_COOKIE' => $cookies])->body, 'What is stored answers it.');
        self::assertSame(2, $this->runs());
    }

    /** What these cookies and parameters mostly have is harmless: the page is stored. */
    #[TestWith(['_ga=GA1.2.1234567890.1700000000; _gcl_au=1.1.1.1; _fbp=fb.1.1700000000000.1', 'utm_source=news-letter&utm_campaign=spring+sale&utm_x[]=1'])]
    #[TestWith(['_clck=1abc%7C2%7Cfg0%7C0%7C1; __gads=ID=1:T=1:RT=1:S=A_b-c; _ttp=a%2Bb; cto_bundle=aB%3D%3D', 'utm_content=a%2Fb%7Cc'])]
    public function testAHarmlessOneDoesNotKeepThePageOut(string $cookies, string $query): void
    {
        $script = $this->script(self::PAGE . 'echo "page";', ['ignoredQuery' => ['utm_*']]);
        $this->ask($script, ['HTTP_COOKIE' => $cookies], target: "/?$query");
        $this->ask($script);
        self::assertSame(1, $this->runs());
    }

    /** So many ignored parameters that PHP reads no others (max_input_vars): the page of another query is not made without it. */
    public function testAFloodOfIgnoredParameters(): void
    {
        $script = $this->script(self::PRINT, ['ignoredQuery' => ['u']]);
        $flood = $this->ask($script, target: '/?' . \str_repeat('u&', 1_005) . 'id=7');
        self::assertStringContainsString('"id":"7"', $flood->body);
        self::assertSame($flood->body, $this->ask($script, target: '/?id=7')->body);
    }

    /** A cookie that is ignored is nowhere to be seen, also not in $_REQUEST; one that pages vary by is. */
    public function testAnIgnoredCookie(): void
    {
        $script = $this->script(self::PRINT, ['varyCookies' => ['currency', 'a.b']]);
        $body = $this->ask($script, ['HTTP_COOKIE' => 'CookieConsent=evil; currency=EUR; _ga=evil; a.b=2'])->body;
        self::assertStringNotContainsString('evil', $body);
        self::assertStringContainsString('{"currency":"EUR","a_b":"2"}', $body);
    }

    /** Tens of thousands of cookies; the answer comes, and is nobody else's. */
    public function testAFloodOfCookies(): void
    {
        $script = $this->script(self::PAGE . "echo 'page ', count(\$_COOKIE);");
        self::assertSame('page 0', $this->ask($script, ['HTTP_COOKIE' => \str_repeat('_ga=1; ', 5_000)])->body);
        self::assertSame('page 0', $this->ask($script)->body);
        self::assertSame(1, $this->runs());
    }

    /** The application's 304 to the visitor's own condition, which it reads where the cache cannot take it away. */
    public function testA304ToTheVisitorsOwnCondition(): void
    {
        $script = $this->script(self::PAGE . "if ((getallheaders()['If-None-Match'] ?? '') === '\"mine\"') { http_response_code(304); exit; } echo 'page';");
        $this->ask($script, ['HTTP_IF_NONE_MATCH' => '"mine"']);
        self::assertSame([200, 'page'], [($answer = $this->ask($script))->status, $answer->body]);
    }

    /** A change that comes after the first output: a visitor meanwhile stores the old page once more, and it goes all the same. */
    public function testAChangeAfterTheFirstOutput(): void
    {
        $stored = $this->script(self::PAGE . "echo 'page';");
        $script = $this->script("echo 'begun'; flush(); usleep(300_000);");
        $posting = self::fpm()->connect();
        $posting->send($script, parameters: ['HTTP_HOST' => 'shop.example', 'REQUEST_URI' => '/', 'QUERY_STRING' => '', 'REQUEST_METHOD' => 'POST']);
        while ($this->runs() === 0) {
            \usleep(1_000);
        }
        $this->ask($stored);
        $posting->receive();
        $posting->close();
        $this->ask($stored);
        self::assertSame(3, $this->runs());
    }

    /** A page of somebody passes by unchanged: no buffer of the cache is in the way of what streams, flushes or looks at buffers. */
    public function testAPrivatePageHasNoBuffer(): void
    {
        $script = $this->script('echo json_encode(ob_list_handlers());');
        self::assertSame('["default output handler"]', $this->ask($script, ['HTTP_COOKIE' => 'session=x'])->body);
        self::assertCount(2, (array) \json_decode($this->ask($script)->body));
    }

    /** A method that changes something, by a script that ends the buffers itself: what is stored for the URL goes all the same. */
    public function testAChangeByAScriptThatEndsItsBuffers(): void
    {
        $script = $this->script(self::PAGE . "while (ob_get_level()) { ob_end_clean(); } header('Content-Length: 4'); echo 'page';");
        $stored = $this->script(self::PAGE . "echo 'page';");
        $this->ask($stored);
        $this->ask($script, ['REQUEST_METHOD' => 'POST']);
        $this->ask($stored);
        self::assertSame(3, $this->runs());
    }
}
