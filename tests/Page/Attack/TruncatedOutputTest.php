<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\TestWith;

/** Output that is not the whole page, because the script died, stopped or played with the buffers. */
#[CoversNothing]
final class TruncatedOutputTest extends ScriptCase
{
    /** A fatal error after the header was sent is a 200 to nginx, Apache and Varnish, and they store what came before it. */
    #[TestWith(['no_such_function();'])]
    #[TestWith(['(static fn(int $i) => $i)("x");'])]
    #[TestWith(['throw new RuntimeException("down");'])]
    #[TestWith(['new NoSuchClass();'])]
    #[TestWith(['require "no-such-file.php";'])]
    #[TestWith(['trigger_error("down", E_USER_ERROR);'])]
    #[TestWith(['eval("class Larder {} class Larder {}");'])]
    public function testAFatalError(string $death): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "echo 'half'; http_response_code(200); $death"));
    }

    /** The same sent as 200, by an error handler that means well. */
    public function testAFatalErrorSentAs200(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "register_shutdown_function(static function () { http_response_code(200); echo 'Sorry.'; }); no_such_function();"), why: 'fatal');
    }

    /** And one that forgets the error after it has shown it. */
    public function testAFatalErrorThatIsForgotten(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "register_shutdown_function(static function () { http_response_code(200); error_clear_last(); echo 'Sorry.'; }); no_such_function();"), why: 'fatal');
    }

    /** No memory left: for the page cache's own work neither. */
    #[TestWith(['$all = []; while (true) { $all[] = str_repeat("x", 100_000); }'])]
    #[TestWith(['while (true) { echo str_repeat("x", 100_000); $all[] = str_repeat("x", 100_000); }'])]
    public function testNoMemoryLeft(string $death): void
    {
        $script = $this->script(self::PAGE . "ini_set('memory_limit', (string) (memory_get_usage(true) + 6_000_000)); echo 'half'; $death");
        $this->ask($script);
        self::assertFalse($this->isBuilt());
        $this->ask($script);
        self::assertSame(2, $this->runs());
    }

    /**
     * A page that the application has memory for, but the cache has not: it comes as without the cache.
     *
     * @param int $held mebibytes that the application has taken
     */
    #[TestWith(['16M', 0, 3])]
    #[TestWith(['24M', 0, 7])]
    #[TestWith(['24M', 0, 9])]
    #[TestWith(['64M', 44, 7])]
    #[TestWith(['64M', 44, 30])]
    public function testAPageThatTheCacheHasNoMemoryFor(string $limit, int $held, int $length): void
    {
        $code = "\$held = str_repeat('x', $held << 20); header('Content-Type: text/html'); for (\$i = 0; \$i < $length << 10; \$i++) { echo base64_encode(random_bytes(768)); }";
        $script = $this->script(self::PAGE . $code, before: "ini_set('memory_limit', '$limit');");
        foreach ([1, 2] as $time) {
            $answer = $this->ask($script);
            self::assertSame([200, $length << 20], [$answer->status, \strlen($answer->body)]);
        }
        self::assertFalse($this->isBuilt());
        self::assertSame(2, $this->runs());
    }

    /** A long page that there is memory for is held in parts, and is one page. */
    public function testALongPage(): void
    {
        $this->assertStored($this->script(self::PAGE . 'for ($i = 0; $i < 3000; $i++) { echo str_repeat("x", 1000), "\n"; }'), \str_repeat(\str_repeat('x', 1_000) . "\n", 3_000));
    }

    /** Of a long page that is cleaned, the parts held before are thrown away too. */
    public function testALongPageThatIsCleaned(): void
    {
        $this->assertStored($this->script(self::PAGE . 'echo str_repeat("x", 3 << 20); ob_clean(); echo "page";'), 'page');
    }

    /** Of one whose header is sent before its end, or whose buffers the application ends, no part is lost. */
    #[TestWith(['flush();', true])]
    #[TestWith(['ob_flush();', true])]
    #[TestWith(['while (ob_get_level()) { ob_end_flush(); }', false])]
    public function testALongPageThatIsFlushed(string $flush, bool $isStored): void
    {
        $script = $this->script(self::PAGE . "echo str_repeat('x', 3 << 20); $flush echo 'page';");
        $isStored ? $this->assertStored($script, \str_repeat('x', 3 << 20) . 'page') : $this->assertNeverStored($script, \str_repeat('x', 3 << 20) . 'page');
    }

    /** The application says that the page is longer than what is stored: none of it is held. */
    public function testALengthThatIsTooLong(): void
    {
        $script = $this->script(self::PAGE . "header('Content-Length: ' . (20 << 20)); ini_set('memory_limit', '24M'); for (\$i = 0; \$i < 20; \$i++) { echo str_repeat('x', 1 << 20); }");
        self::assertSame(20 << 20, \strlen($this->assertNeverStored($script, why: '')->body));
    }

    /** The time is up (max_execution_time). */
    public function testNoTimeLeft(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "set_time_limit(1); echo 'half'; while (true);"), why: 'fatal');
    }

    /** The process is gone in the middle of the page, as with request_terminate_timeout or the kernel's memory killer. */
    public function testAProcessThatIsKilled(): void
    {
        $script = $this->script(self::PAGE . "echo 'half'; if (\$_SERVER['HTTP_X_DIE'] ?? null) { posix_kill(getmypid(), 9); sleep(9); } echo ' and half';");
        try {
            $this->ask($script, ['HTTP_X_DIE' => '1']);
            self::fail();
        } catch (\Larder\Tests\Support\FastCgiFailure) {
        }
        $this->assertStored($script, 'half and half');
    }

    /** exit in the middle of a page that says where it ends: what a plugin does that sends a redirect too late, or die(). */
    #[TestWith(['exit;'])]
    #[TestWith(['die("Error establishing a database connection");'])]
    #[TestWith(['exit(1);'])]
    public function testAnExitInTheMiddle(string $exit): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "echo '<!doctype html><html><body>half'; $exit"), why: 'cut off');
    }

    /** exit at the end is how many scripts end. */
    public function testAnExitAtTheEnd(): void
    {
        $this->assertStored($this->script(self::PAGE . "echo '<!doctype html><HTML lang=en><body>all</body></HTML >'; exit;"), '<!doctype html><HTML lang=en><body>all</body></HTML >');
    }

    /** An exception in a destructor comes after the last line of the script. */
    public function testAnExceptionInADestructor(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "\$late = new class { function __destruct() { throw new Exception('late'); } }; echo 'half';"), why: 'fatal');
    }

    /** And in a function that runs at the end. */
    public function testAnExceptionInAShutdownFunction(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "register_shutdown_function(static function () { throw new Exception('late'); }); echo 'half';"), why: 'fatal');
    }

    /** What shutdown functions and destructors print belongs to the page. */
    public function testWhatIsPrintedAtTheEnd(): void
    {
        $this->assertStored($this->script(self::PAGE . "\$late = new class { function __destruct() { echo ' destructor'; } };
            register_shutdown_function(static function () { echo ' first'; register_shutdown_function(static fn() => print ' second'); }); echo 'page';"), 'page first second destructor');
    }

    /** So does a header that is set there, also one that makes the page private. */
    public function testAPageThatTurnsPrivateAtTheEnd(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "register_shutdown_function(static fn() => setcookie('session', '1')); echo 'page';"), 'page', 'Set-Cookie');
        $this->assertNeverStored($this->script(self::PAGE . "\$late = new class { function __destruct() { header('Cache-Control: private'); } }; echo 'page';"), 'page', 'private');
    }

    /** Buffers that the application opens and leaves open. */
    public function testBuffersLeftOpen(): void
    {
        $this->assertStored($this->script(self::PAGE . "ob_start(); echo 'one '; ob_start(static fn(string \$text) => strtoupper(\$text)); echo 'two '; ob_start(); echo 'three';"), 'one TWO THREE');
    }

    /** A loop that throws all buffers away, and then prints what the cache cannot see. */
    #[TestWith(['while (ob_get_level() > 0) { ob_end_clean(); }'])]
    #[TestWith(['while (@ob_end_clean());'])]
    #[TestWith(['while (ob_get_level()) { ob_get_clean(); }'])]
    public function testALoopThatThrowsBuffersAway(string $loop): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "echo 'lost'; $loop echo 'page';"), 'page');
        self::assertFalse($this->isBuilt());
    }

    /** One that flushes them: what comes after is unknown, and the part is not the page. */
    #[TestWith(['while (ob_get_level() > 0) { ob_end_flush(); }'])]
    #[TestWith(['foreach (ob_list_handlers() as $_) { ob_end_flush(); }'])]
    #[TestWith(['while (ob_get_level() > 0) { echo ob_get_clean(); ob_get_level() || print ""; }'])]
    public function testALoopThatFlushesBuffers(string $loop): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "echo 'one'; $loop echo ' two';"), 'one two');
    }

    /** The same at the script's end, by a function that a function has registered there. */
    public function testALateLoopThatFlushesBuffers(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "echo 'one'; register_shutdown_function(static function () {
            register_shutdown_function(static function () { while (ob_get_level() > 0) { ob_end_flush(); } echo ' two'; });
        });"), 'one two');
    }

    /** In a destructor. */
    public function testADestructorThatFlushesBuffers(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "echo 'one'; \$late = new class { function __destruct() { while (ob_get_level() > 0) { ob_end_flush(); } echo ' two'; } };"), 'one two');
    }

    /** An application that cleans a buffer and prints the page anew, as error pages do: only that counts. */
    public function testACleanedBuffer(): void
    {
        $this->assertStored($this->script(self::PAGE . "echo 'half'; ob_clean(); echo 'page';"), 'page');
    }

    /** Parts that are sent while the page is made: all of them together are the page. */
    public function testPartsThatAreFlushed(): void
    {
        $this->assertStored($this->script(self::PAGE . "foreach (['one', ' two', ' three'] as \$part) { echo \$part; ob_flush(); flush(); }"), 'one two three');
    }

    /** After the first part is sent the header is too: a cookie that comes later is an error, and the page is not whole. */
    public function testAFatalErrorAfterAPart(): void
    {
        $this->assertNeverStored($this->script(self::PAGE . "echo 'one'; ob_flush(); flush(); no_such_function();"));
    }

    /** A visitor who leaves stops the application: half a page stays behind. */
    public function testAVisitorWhoLeaves(): void
    {
        $script = $this->script(self::PAGE . "for (\$i = 0; \$i < 40; \$i++) { echo 'part '; ob_flush(); flush(); usleep(25_000); }");
        $leaving = self::fpm()->connect();
        $leaving->send($script, parameters: ['HTTP_HOST' => 'shop.example', 'REQUEST_URI' => '/', 'QUERY_STRING' => '']);
        while ($this->runs() === 0) {
            \usleep(1_000);
        }
        $leaving->close();
        self::assertSame(\str_repeat('part ', 40), $this->ask($script)->body);
    }

    /** The end of the request before the end of the script: what comes later reaches nobody, and no page. */
    public function testTheRequestEndsBeforeTheScript(): void
    {
        $this->assertStored($this->script(self::PAGE . "echo 'page'; fastcgi_finish_request(); echo 'nobody sees this';"), 'page');
    }

    /** A length that the application says, of a page that it does not print whole. */
    public function testALengthThatIsNotReached(): void
    {
        $this->ask($script = $this->script(self::PAGE . "header('Content-Length: 8'); echo 'half';"));
        $this->ask($script);
        self::assertSame(2, $this->runs());
    }
}
