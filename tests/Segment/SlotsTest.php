<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;

/** More processes than slots, and processes to whom the segment's address is taken: they copy, and see the same. */
#[Group('slow')]
final class SlotsTest extends SegmentTestCase
{
    /** All but the one that those without any share (SEG_SLOTS in ext/segment/layout.h). */
    private const SLOTS = 511;

    /** Values of every kind, in $values, and what tells whether $s has them. */
    private const VALUES = <<<'PHP'
        if (!class_exists('Point')) {
            class Point { public function __construct(public int $x = 0, public ?array $more = null) {} }
        }
        $point = new Point(7, ['deep' => [1, 2, ['three' => 3.5]]]);
        $values = [
            'null' => null, 'false' => false, 'true' => true, 'zero' => 0, 'integer' => PHP_INT_MIN, 'float' => -0.1, 'infinite' => INF,
            'empty string' => '', 'letter' => 'x', 'string' => "nul\0byte \u{e9}", 'long string' => str_repeat('text ', 5000),
            'empty' => [], 'packed' => [1, 'two', 3.0, null, false, [4]], 'holes' => [3 => 'a', 7 => 'b'], 'negative' => [-5 => 'a', 'b'],
            'keys' => ['1a' => 1, '' => 2, "n\0l" => 3, 12 => 4], 'nested' => ['a' => ['b' => ['c' => [[], ['d' => [true]]]]]],
            'table' => array_fill(0, 50, array_fill_keys(array_map(fn($i) => "column $i", range(1, 50)), 'cell')),
            'shared' => (function () { $part = ['same', range(1, 9)]; return [$part, $part, 'x' => $part]; })(),
            'object' => $point, 'mixed' => ['plain' => [1, 2, 3], 'object' => $point, 'again' => $point, 'list' => [[$point], 'end']],
            'enum in array' => ['when' => new DateTimeImmutable('2020-02-29 12:00:00 UTC'), 'tags' => ['a', 'b']],
        ];
        $look = function ($s) use ($values) {
            $wrong = [];
            foreach ($values as $key => $value) {
                $got = $s->get($key, 'missing');
                if (serialize($got) !== serialize($value) || gettype($got) !== gettype($value)) {
                    $wrong[] = $key;
                }
                if (is_array($got)) {
                    $got[] = 'changed';
                    $got['k'] = 'changed';
                    if (serialize($s->get($key)) !== serialize($value)) {
                        $wrong[] = "$key after a change of a copy";
                    }
                }
            }
            if (array_map(serialize(...), $s->getMultiple([...array_keys($values), 'nowhere'])) !== array_map(serialize(...), $values)) {
                $wrong[] = 'getMultiple';
            }
            $m = $s->get('mixed');
            if ($m['object'] !== $m['again'] || $m['list'][0][0] !== $m['object']) {
                $wrong[] = 'the same object twice';
            }
            return $wrong;
        };
        $write = function ($s, $mine) use ($values) {
            $said = [];
            foreach ($values as $key => $value) {
                $said[] = $s->set("$mine $key", $value);
            }
            $said[] = [$s->add("$mine null", 1), $s->add("$mine new", 1), $s->replace("$mine none", 1), $s->replace("$mine new", [2])];
            $said[] = [$s->increment("$mine n", 5, 10), $s->increment("$mine n", -1), $s->increment("$mine string"), $s->has("$mine n"), $s->delete("$mine n"), $s->has("$mine n"), $s->delete("$mine n")];
            $said[] = array_values(array_map(serialize(...), $s->getMultiple(array_map(fn($k) => "$mine $k", array_keys($values))))) === array_values(array_map(serialize(...), $values));
            try {
                $s->set("$mine closure", [fn() => 1]);
            } catch (Exception $e) {
                $said[] = get_class($e);
            }
            $said[] = $s->has("$mine closure");
            return $said;
        };
        PHP;

    // Seen to fail: seg_reserve() that refuses without a slot; fetch() that has the copy of an item in malloc(3)'s memory.
    public function testMoreProcessesThanSlots(): void
    {
        $writer = $this->writer();
        $crowd = $this->crowd(self::SLOTS - 1);
        try {
            $late = Child::at($this->path);
            self::assertSame('copy', $late->run('return $s->stats()["mode"];'));
            self::assertSame([], $late->run(self::VALUES . 'return $look($s);'));
            self::assertSame($writer->run('return $write($s, "with");'), $late->run('return $write($s, "without");'));
            self::assertSame([], $late->run('return $look($s);'));
            self::assertNull($late->run('return $s->check();'));
            $this->assertNothingStaysOfWhatAFatalErrorEnds($late);
        } finally {
            $crowd->kill();
        }
        // The crowd's children end with it.
        Wait::until(fn(): bool => Child::at($this->path)->run('return $s->stats()["mode"];') === 'zero-copy', 'a process that reads in place');
        self::assertNull($writer->run('return $s->check();'));
    }

    /** A fatal error ends the code of an object that a worker without a slot copies out: the copy goes with the request. */
    private function assertNothingStaysOfWhatAFatalErrorEnds(Child $writer): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('Needs php-fpm of this PHP: install it with bin/setup.');
        }
        $class = 'final class Ender { public function __wakeup(): void { @trigger_error("the end", E_USER_ERROR); } }';
        self::assertTrue($writer->run($class . ' return $s->set("large", [str_repeat("x", 800_000), new Ender()]);'));
        $fpm = new FpmServer(1, ini: ['extension' => Extension::path()]);
        $script = $fpm->script('page.php', '<?php ' . $class . <<<'PHP'

            $s = Larder\Segment::open($_GET['path']);
            register_shutdown_function(function () use ($s) { echo error_get_last()['message'] ?? 'nothing', ', ', $s->stats()['mode']; });
            $s->get('large');
            PHP);
        $workers = $sizes = [];
        for ($i = 0; $i < 40; $i++) {
            self::assertSame('the end, copy', $fpm->request($script, path: $this->path)->body);
            $workers[$worker = $fpm->workers()[0]] = true;
            \preg_match('/^VmRSS:\s+(\d+) kB$/m', (string) \file_get_contents("/proc/$worker/status"), $size);
            $sizes[] = (int) ($size[1] ?? 0);
        }
        self::assertCount(1, $workers);
        // Kilobytes: the value takes nearly one thousand, and was copied thirty times since.
        self::assertLessThan($sizes[9] + 8000, $sizes[39]);
    }

    /** Those without a slot share one to write with: one after the other, and one that dies with it stops nobody. */
    // Seen to fail: seg_borrow_slot() without the lock (the second does not wait for the first).
    public function testManyWithoutASlotWriteAtOnce(): void
    {
        $writer = $this->writer();
        $crowd = $this->crowd(self::SLOTS - 1);
        try {
            $victim = new Child(['LARDER_POINT' => 'slot-borrowed:3']);
            $victim->open($this->path);
            $victim->start('for ($i = 0; $i < 10; $i++) $s->set("victim$i", [$i]);');
            self::assertSame(128 + \SIGKILL, $victim->process->wait());
            $stopped = new Child(['LARDER_POINT' => 'reserve-unlocked', 'LARDER_POINT_HOW' => 'stop']);
            $stopped->open($this->path);
            // A value that is not small: nobody is stopped with a shard's lock.
            $stopped->start('return $s->set("stopped", str_repeat("x", 5000));');
            Wait::until(static fn(): bool => \str_contains((string) \file_get_contents('/proc/' . $stopped->process->pid . '/stat'), ') T '), 'the process to have been stopped');
            $waits = Child::at($this->path);
            $waits->start('return $s->set("waited", [2]) && true;');
            self::assertNull($waits->process->line(0.3));
            $stopped->process->signal(\SIGCONT);
            self::assertSame([true, true], [$stopped->finish(), $waits->finish()]);

            $late = [];
            foreach (\range(1, 6) as $number) {
                $late[$number] = Child::at($this->path);
                self::assertSame('copy', $late[$number]->run('return $s->stats()["mode"];'));
            }
            foreach ($late as $number => $child) {
                $child->start('$bad = 0; for ($i = 0; $i < 300; $i++) { $bad += !$s->set("$n/$i", ["n" => $n, "i" => $i]); $bad += $s->get("$n/$i") !== ["n" => $n, "i" => $i]; } return $bad;', n: $number);
            }
            foreach ($late as $child) {
                self::assertSame(0, $child->finish());
            }
            self::assertNull($writer->run('return $s->check();'));
            self::assertSame([[1], null], $writer->run('return [$s->get("victim1"), $s->get("victim2")];'));
        } finally {
            $crowd->kill();
        }
    }

    // Seen to fail: here() (ext/readout.c) that leaves pointers as they are.
    public function testTheAddressIsTaken(): void
    {
        if (!\extension_loaded('ffi')) {
            self::markTestSkipped('Needs ext-ffi to take the address: on Debian, apt-get install php-ffi.');
        }
        $writer = $this->writer();
        $address = $writer->run('return $s->stats()["address"];');
        self::assertIsString($address);
        $child = new Child(ini: ['ffi.enable' => 1]);
        $child->run(<<<'PHP'
            $c = FFI::cdef('void *mmap(void *, size_t, int, int, int, long);');
            // A page, private and anonymous, for nobody; at this address only (MAP_FIXED_NOREPLACE).
            $taken = $c->mmap($c->cast('void *', (int) hexdec(substr($address, 2))), 4096, 0, 0x100022, -1, 0);
            PHP, address: $address);
        $child->open($this->path);
        self::assertSame(['copy', $address], $child->run('$n = $s->stats(); return [$n["mode"], $n["address"]];'));
        self::assertSame([], $child->run(self::VALUES . 'return $look($s);'));
        self::assertSame($writer->run('return $write($s, "at");'), $child->run('return $write($s, "off");'));
        // What it has written is read in place by others.
        self::assertSame([], $writer->run('return array_filter(array_keys($values), fn($k) => serialize($s->get("off $k")) !== serialize($values[$k]));'));
        // It copies out while others overwrite.
        $writer->start('for ($i = 0; $i < 3000; $i++) $s->set("busy", array_fill(0, 50, $i % 10)); return true;');
        self::assertSame(0, $child->run('$bad = 0; for ($i = 0; $i < 3000; $i++) { $v = $s->get("busy"); $bad += $v !== null && (count($v) !== 50 || count(array_unique($v)) !== 1); } return $bad;'));
        self::assertTrue($writer->finish());
        self::assertNull($child->run('return $s->check();'));
    }

    /** A process that has all the values, and the closures. */
    private function writer(): Child
    {
        $writer = Child::at($this->path, 4 << 20);
        $writer->run(self::VALUES . 'foreach ($values as $key => $value) { if (!$s->set($key, $value)) throw new Exception($key); }');
        self::assertSame([], $writer->run('return $look($s);'));

        return $writer;
    }

    /** So many processes with a slot, which end with the one that is returned. */
    private function crowd(int $size): Process
    {
        $crowd = Extension::snippet(<<<'PHP'
            $parent = getmypid();
            for ($i = 0; $i < (int) $argv[2]; $i++) {
                if (($pid = pcntl_fork()) === 0) {
                    $s = Larder\Segment::open($argv[1]);
                    $s->get('table');
                    touch($argv[1] . ".in$i");
                    while (posix_getppid() === $parent) usleep(100_000);
                    posix_kill(getmypid(), SIGKILL);
                }
            }
            PHP . "\n" . <<<'PHP'
            while (count(glob($argv[1] . '.in*')) < (int) $argv[2]) usleep(1000);
            echo "full\n";
            sleep(100);
            PHP, $this->path, (string) $size);
        $crowd->expect('full', 60.0);

        return $crowd;
    }
}
