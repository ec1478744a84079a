<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\WordPress\DropIn;
use Larder\WordPress\DropInState;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/untranslated.php';

final class DropInTest extends TestCase
{
    private const OURS = "<?php\n/**\n * Plugin Name: Larder object cache\n * Version: 2\n */\n";
    private const OLDER = "<?php\n/**\n * Plugin Name: Larder object cache\n * Version: 1\n */\nold();\n";
    private const FOREIGN = "<?php\r\n/*\r\nPlugin Name: <b>Redis</b> Object Cache Drop-In */\r\n\$password = 'x';\n";

    private TemporaryDirectory $directory;
    private DropIn $dropIn;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        \mkdir($this->directory->file('content'));
        $this->dropIn = $this->dropIn();
    }

    public function testItComesAndGoes(): void
    {
        self::assertSame(DropInState::Missing, $this->dropIn->state());
        \chmod($this->directory->write('content/index.php', ''), 0o640);
        $mask = \umask(0o077);
        self::assertSame('', $this->dropIn->install());
        \umask($mask);
        self::assertSame(self::OURS, $this->there());
        self::assertSame(0o640, \fileperms($this->dropIn->target) & 0o777, 'As what lies beside it.');
        self::assertSame(DropInState::Ours, $this->dropIn->state());
        self::assertSame('', $this->dropIn->install());
        self::assertTrue($this->dropIn->remove());
        self::assertSame(DropInState::Missing, $this->dropIn->state());
        self::assertTrue($this->dropIn->remove());
        self::assertSame(['index.php'], $this->names());
    }

    public function testAnotherVersionIsReplaced(): void
    {
        $this->put(self::OLDER);
        self::assertSame(DropInState::Outdated, $this->dropIn->state());
        self::assertTrue($this->dropIn->state()->isOurs());
        self::assertSame('', $this->dropIn->install());
        self::assertSame(self::OURS, $this->there());
        self::assertSame(['object-cache.php'], $this->names(), 'Nothing of ours is put aside.');
        $this->put(self::OLDER);
        self::assertTrue($this->dropIn->remove());
        self::assertSame([], $this->names());
    }

    #[DataProvider('foreign')]
    public function testAnothersIsLeftAloneUnlessThatIsAskedFor(string $code, string $name): void
    {
        $this->put($code);
        self::assertSame(DropInState::Foreign, $this->dropIn->state());
        self::assertSame($name, $this->dropIn->foreignName());
        self::assertStringContainsString($name, $this->dropIn->install());
        self::assertTrue($this->dropIn->remove());
        self::assertSame($code, $this->there());
        self::assertSame(['object-cache.php'], $this->names());

        self::assertSame('', $this->dropIn->install(true));
        self::assertSame(self::OURS, $this->there());
        self::assertSame('', $this->dropIn->foreignName());
        self::assertStringEqualsFile($this->dropIn->backup(), $code);
        self::assertSame(0o600, \fileperms($this->dropIn->backup()) & 0o777, 'It may hold a password.');
        self::assertTrue($this->dropIn->remove());
        self::assertStringEqualsFile($this->dropIn->backup(), $code, 'It is not put back.');
        $this->dropIn->removeBackup();
        self::assertSame([], $this->names());
    }

    /** @return iterable<string, array{string, string}> */
    public static function foreign(): iterable
    {
        yield 'with a name' => [self::FOREIGN, '<b>Redis</b> Object Cache Drop-In'];
        yield 'without one' => ['<?php class WP_Object_Cache {}', 'a plugin without a name'];
        yield 'ours in its text only' => ["<?php // instead of Larder object cache\n", 'a plugin without a name'];
        yield 'empty' => ['', 'a plugin without a name'];
    }

    public function testOnlyTheLastOneIsKept(): void
    {
        foreach (['one', 'two'] as $name) {
            $this->put("<?php /* Plugin Name: $name */");
            self::assertSame('', $this->dropIn->install(true));
        }
        self::assertStringEqualsFile($this->dropIn->backup(), '<?php /* Plugin Name: two */');
        self::assertCount(2, $this->names());
    }

    public function testALinkIsPutAsideAndNotFollowed(): void
    {
        $theirs = $this->directory->write('theirs.php', self::FOREIGN);
        \symlink($theirs, $this->dropIn->target);
        self::assertSame('', $this->dropIn->install(true));
        self::assertStringEqualsFile($theirs, self::FOREIGN);
        self::assertFalse(\is_link($this->dropIn->target));
        self::assertTrue(\is_link($this->dropIn->backup()));
    }

    public function testALinkToOursIsOurs(): void
    {
        \symlink($this->directory->file('source.php'), $this->dropIn->target);
        self::assertSame(DropInState::Ours, $this->dropIn->state());
        self::assertTrue($this->dropIn->remove());
        self::assertFileExists($this->directory->file('source.php'));
    }

    public function testWhatMayNotBeChangedIsNot(): void
    {
        $dropIn = $this->dropIn('the owner forbids it');
        self::assertSame(DropInState::Unwritable, $dropIn->state());
        self::assertStringContainsString('the owner forbids it', $dropIn->install());
        $this->put(self::FOREIGN);
        self::assertStringContainsString('the owner forbids it', $dropIn->install(true));
        self::assertSame(self::FOREIGN, $this->there());
        self::assertSame(['object-cache.php'], $this->names());
    }

    public function testADirectoryThatCannotBeWrittenIsSaid(): void
    {
        \chmod($this->directory->path, 0o755);
        \chmod($this->directory->file('content'), 0o555);
        $nobody = \posix_geteuid() === 0 ? 65534 : null;
        $code = <<<'PHP'
            set_error_handler(function (int $level, string $message) { echo "error handler: $message\n"; });
            $dropIn = new Larder\WordPress\DropIn($argv[1] . '/source.php', $argv[1] . '/content/object-cache.php');
            echo $dropIn->state()->value, "\n", $dropIn->install(), "\n", json_encode($dropIn->remove()), "\n";
            PHP;
        $answer = BuiltPlugin::run($code, [$this->directory->path], user: $nobody);
        self::assertSame('unwritable', $answer[0]);
        self::assertStringContainsString('could not install its drop-in', $answer[1]);
        self::assertStringContainsString($this->directory->file('source.php'), $answer[1]);
        self::assertSame('true', $answer[2]);
        self::assertSame([], $this->names());

        \chmod($this->directory->file('content'), 0o755);
        $this->put(self::OURS);
        \chmod($this->directory->file('content'), 0o555);
        self::assertSame(['ours', '', 'false'], \array_slice(BuiltPlugin::run($code, [$this->directory->path], user: $nobody), 0, 3));
        self::assertSame(self::OURS, $this->there());
    }

    public function testHalfOfItIsNeverSeen(): void
    {
        // A reader that never stops, while it comes and is replaced by an older one.
        $reader = Process::snippet(
            '$seen = []; $end = hrtime(true) + 1_000_000_000; echo "ready\n"; $file = $argv[1];
             set_error_handler(fn() => true);
             while (hrtime(true) < $end) { $text = file_get_contents($file); if ($text !== false) { $seen[strlen($text)] = true; } }
             echo implode(" ", array_keys($seen)), "\n";',
            [$this->dropIn->target],
        );
        $reader->expect('ready');
        $old = \str_pad(self::OLDER, 40_000);
        $this->directory->write('old.php', $old);
        $older = new DropIn($this->directory->file('old.php'), $this->dropIn->target);
        while ($reader->isRunning()) {
            $this->dropIn->install();
            $older->install();
        }
        $sizes = \array_map(\intval(...), \explode(' ', \trim($reader->output())));
        \sort($sizes);
        self::assertSame([\strlen(self::OURS), \strlen($old)], $sizes);
    }

    private function dropIn(string $refusal = ''): DropIn
    {
        return new DropIn($this->directory->write('source.php', self::OURS), $this->directory->file('content/object-cache.php'), $refusal);
    }

    private function put(string $code): void
    {
        $this->directory->write('content/object-cache.php', $code);
    }

    private function there(): string
    {
        return (string) \file_get_contents($this->dropIn->target);
    }

    /** @return list<string> */
    private function names(): array
    {
        return \array_values(\array_diff(\scandir($this->directory->file('content')) ?: [], ['.', '..']));
    }
}
