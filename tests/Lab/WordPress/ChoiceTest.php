<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\WordPress;

use Larder\Lab\WordPress\Choice;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class ChoiceTest extends TestCase
{
    private const FILE = __DIR__ . '/Fixture/object-cache.php';

    public function testWhatWasTypedIsTypedAgain(): void
    {
        $choice = Choice::of('6.8', ['one=' . self::FILE, 'a-2.0=' . __DIR__]);
        self::assertSame(['one' => self::FILE, 'a-2.0' => __DIR__], $choice->dropIns);
        self::assertSame(['--wordpress=6.8', '--dropin=one=' . self::FILE, '--dropin=a-2.0=' . __DIR__], $choice->words());
        self::assertSame([], Choice::of(null, [])->words());
    }

    /** Seen to fail: the deepest taken, or none but the first level looked at. */
    public function testOfAPluginsDirectoryTheDropInThatLiesLeastDeepIsTaken(): void
    {
        $directory = new TemporaryDirectory('lab');
        $plugin = $directory->file('plugin');
        \mkdir("$plugin/a/b", 0o700, true);
        \touch("$plugin/a/b/object-cache.php");
        self::assertSame("$plugin/a/b/object-cache.php", Choice::dropIn($plugin));
        \mkdir("$plugin/z");
        \touch("$plugin/z/object-cache.php");
        self::assertSame("$plugin/z/object-cache.php", Choice::dropIn($plugin));
        self::assertSame(self::FILE, Choice::dropIn(self::FILE));
    }

    /** @return iterable<string, array{?string, list<string>, string}> */
    public static function mistakes(): iterable
    {
        yield 'no WordPress' => ['/tmp', [], 'not a directory of WordPress'];
        yield 'no name' => [null, [self::FILE], 'write NAME=FILE'];
        yield 'a name that is there' => [null, ['larder-x=' . self::FILE], 'write NAME=FILE'];
        yield 'WordPress itself' => [null, ['wordpress=' . self::FILE], 'write NAME=FILE'];
        yield 'twice' => [null, ['a=' . self::FILE, 'a=' . self::FILE], 'write NAME=FILE'];
        yield 'capitals' => [null, ['Redis=' . self::FILE], 'write NAME=FILE'];
        yield 'no file' => [null, ['a=' . __FILE__ . '.none'], 'no file and no directory'];
        yield 'an empty one' => [null, ['a='], 'no file and no directory'];
        yield 'a directory without' => [null, ['a=' . __DIR__ . '/../Statistics'], 'called object-cache.php'];
    }

    /** @param list<string> $dropIns */
    #[DataProvider('mistakes')]
    public function testAMistakeIsSaidWithWhatToType(?string $wordpress, array $dropIns, string $says): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage($says);
        Choice::of($wordpress, $dropIns);
    }
}
