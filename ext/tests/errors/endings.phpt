--TEST--
Whatever ends the code that runs within set and get leaves the segment whole and unlocked (what must be tested, 9)
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: looking at the value, which serializes, under the shard's lock (a process that waits for itself).
$segment = segment();
$endings = [
    'exception' => 'throw new LogicException("mine");',
    'error' => 'nothing_of_that_name();',
    'exit' => 'exit("bye");',
    // Silent is what PHP 8.4 says before it ends there, not the end.
    'fatal error' => '@trigger_error("fatal", E_USER_ERROR);',
    'cannot be compiled' => 'eval("class Ender {} class Ender {}");',
    'memory limit' => 'ini_set("memory_limit", (string) (memory_get_usage() + 3000000)); $x = str_repeat("x", 100000000);',
    'time limit' => 'set_time_limit(1); while (true) {}',
    'killed' => 'posix_kill(getmypid(), 9);',
];
$class = '
    function the_end() { if (Ender::$armed) { %s } }
    final class Ender {
        public static bool $armed = false;
        public $p = 1;
        %s
    }';
$places = [
    '__serialize' => 'function __serialize(): array { the_end(); return ["p" => 1]; }',
    '__sleep' => 'function __sleep(): array { the_end(); return ["p"]; }',
    '__unserialize' => 'function __unserialize(array $data): void { the_end(); }',
    '__wakeup' => 'function __wakeup(): void { the_end(); }',
    '__destruct' => 'function __serialize(): array { $x = new Late(); return []; } } class Late { function __destruct() { the_end(); }',
];
$shapes = ['alone' => 'new Ender()', 'in an array' => '["a" => [1, new Ender(), "text" . getmypid()], "b" => range(1, 500), new Ender()]', 'with references' => '(function () { $r = [1]; return [&$r, &$r, new Ender()]; })()'];
foreach ($endings as $ending => $code) {
    foreach ($places as $place => $method) {
        if (in_array($ending, ['time limit', 'killed'], true) && !in_array($place, ['__serialize', '__wakeup'], true)) {
            continue;
        }
        foreach ($shapes as $shape => $value) {
            if ($ending === 'time limit' && $shape !== 'in an array') {
                continue;
            }
            $what = "$ending in $place, $shape";
            $segment->flush();
            $segment->set('old', ['old' => [1]]);
            $segment->set('key', ['the one before']);
            $written = str_contains($place, 'wake') || str_contains($place, '__un');
            $result = child(sprintf($class, $code, $method) . '
                $held = $segment->get("old");
                $value = ' . $value . ';
                ' . ($written ? '$segment->set("key", $value);' : '') . '
                register_shutdown_function(function () use ($segment, $held) { Ender::$armed = false; $segment->set("shutdown", $held); });
                Ender::$armed = true;
                try {
                    ' . ($written ? '$segment->get("key");' : '$segment->set("key", $value);') . '
                    echo "went on";
                } catch (LogicException | Error $error) {
                    $segment->set("caught", [$error->getMessage()]);
                    echo "caught";
                }
            ', [], extension_loaded('posix') ? [] : ['extension=posix']);
            $expected = match ($ending) {
                'exception', 'error' => '/^caught$/',
                'exit' => '/^bye$/',
                'fatal error' => '/^\W*Fatal error: fatal/',
                'cannot be compiled' => '/^\W*Fatal error: Cannot (re)?declare class Ender/',
                'memory limit' => '/^\W*Fatal error: Allowed memory size/',
                'time limit' => '/^\W*Fatal error: Maximum execution time/',
                'killed' => '/^$/',
            };
            same("$what: it ended there, " . $result['output'], 1, preg_match($expected, $result['output']));
            same("$what: signal", $ending === 'killed' ? 9 : 0, $result['signal']);
            same("$what: check", null, $segment->check());
            same("$what: before", ['old' => [1]], $segment->get('old'));
            if (!$written) {
                same("$what: the value before", ['the one before'], $segment->get('key'));
            }
            same("$what: shutdown functions write", $ending === 'killed' ? null : ['old' => [1]], $segment->get('shutdown'));
            // In every shard, by this process and by another.
            for ($i = 0; $i < 64; $i++) {
                same("$what: goes on", true, $segment->set("after $i", [$i]) && $segment->delete("after $i"));
            }
            $stats = $segment->stats();
            same("$what: only this process reads", true, $stats['readers'] <= 1);
            if ($ending !== 'killed') {
                same("$what: nothing was repaired", 0, $stats['recoveries']);
            }
        }
    }
}
same('another process', ['output' => 'went on', 'code' => 0, 'signal' => 0], child('for ($i = 0; $i < 64; $i++) { $segment->set("after $i", [$i]); } echo $segment->check() ?? "went on";'));
echo "done\n";
--EXPECT--
done
