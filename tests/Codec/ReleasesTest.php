<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Several releases of an application on one cache, with the option `fingerprint`. */
#[Group('slow')]
final class ReleasesTest extends TestCase
{
    /** A pattern: what the log says of a value that is a miss for no deployment's sake. */
    private string $logged = '';

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    /** @return iterable<string, array{string, string, bool}> two releases' code, and whether the second reads what the first has stored */
    public static function releases(): iterable
    {
        $make = static fn(string $class, string $rest = ''): string => "$rest class Item { $class }";
        $one = $make('public int $id = 7; private ?string $name = "x"; protected array $tags = []; public static $count = 0;');
        yield 'the same' => [$one, $one, true];
        yield 'in another order, and with other methods, constants, defaults and statics' => [$one, $make('const A = 1; protected array $tags = [1]; private ?string $name = null; public int $id = 8; public static int $total = 0; function name() { return $this->name; }'), true];
        yield 'a property more' => [$one, $make('public int $id = 7; private ?string $name = "x"; protected array $tags = []; public int $more = 0;'), false];
        yield 'a property less' => [$one, $make('public int $id = 7; private ?string $name = "x";'), false];
        yield 'another name' => [$one, $make('public int $key = 7; private ?string $name = "x"; protected array $tags = [];'), false];
        yield 'another type' => [$one, $make('public int|string $id = 7; private ?string $name = "x"; protected array $tags = [];'), false];
        yield 'no type' => [$one, $make('public $id = 7; private ?string $name = "x"; protected array $tags = [];'), false];
        yield 'another visibility' => [$one, $make('public int $id = 7; public ?string $name = "x"; protected array $tags = [];'), false];
        $child = 'public string $own = "";';
        yield 'the same parent' => [$make('public int $a = 1;', 'class Base { private int $b = 1; }') . "class Child extends Base { $child }", $make('public int $a = 1;', 'class Base { private int $b = 2; }') . "class Child extends Base { $child }", true];
        foreach (['a private property of a parent' => 'private string $b = "";', 'one of a parent more' => 'private int $b = 1; protected int $c = 2;', 'a private one of a parent more' => 'private int $b = 1; private int $c = 2;'] as $name => $base) {
            yield $name => ["class Base { private int \$b = 1; } class Item extends Base { $child }", "class Base { $base } class Item extends Base { $child }", false];
        }
        yield 'a class inside' => ['class Part { public int $a = 1; } class Item { public ?object $part; function __construct() { $this->part = new Part; } }', 'class Part { public string $a = ""; } class Item { public ?object $part; function __construct() { $this->part = new Part; } }', false];
        yield 'a class that is made when another serializes itself' => ['class Part { public int $a = 1; } class Item { function __serialize(): array { return [new Part]; } function __unserialize(array $data): void {} }', 'class Part { public string $a = ""; } class Item { function __serialize(): array { return [new Part]; } function __unserialize(array $data): void {} }', false];
        yield 'an enum with another case' => ['enum Suit: string { case A = "a"; } class Item { public Suit $suit = Suit::A; }', 'enum Suit: string { case B = "b"; case A = "c"; } class Item { public Suit $suit = Suit::A; }', true];
        yield 'an enum without the case' => ['enum Suit { case A; } class Item { public Suit $suit = Suit::A; }', 'enum Suit { case B; } class Item { public Suit $suit = Suit::B; }', false];
        yield 'a property of a trait' => ['trait T { private int $a = 1; } class Item { use T; }', 'trait T { private int $a = 1; private int $b = 1; } class Item { use T; }', false];
    }

    #[DataProvider('releases')]
    public function testAValueOfAClassThatIsDeclaredOtherwiseIsMissed(string $first, string $second, bool $isRead): void
    {
        $this->logged = $first === 'enum Suit { case A; } class Item { public Suit $suit = Suit::A; }' ? 'unserialize\(\): Error at offset' : '';
        // Without the extension there is no segment, and both were the same.
        foreach (\extension_loaded('larder') ? ['none', 'segment'] : ['none'] as $near) {
            $each = static fn(string $what): string => "array_map(function (string \$key, Closure \$value) use (\$cache) { return $what; }, ['$near item', '$near deep'], [fn() => new Item, fn() => ['deep' => ['in' => new Item]]])";
            $all = static fn(bool ...$is): array => [$is, $is];
            self::assertSame([[true, true], true], $this->release($first, '[' . $each('$cache->set($key, $value())') . ", \$cache->set('plain', ['a'])]", $near));
            self::assertSame([true, true], $this->release($first, $each('$cache->has($key)'), $near), 'It reads its own.');
            // Each computes what the other has stored, and nobody waits.
            $computes = '(function () use ($cache, $key, $value) { $is = false; $cache->remember($key, function () use (&$is, $value) { $is = true; return $value(); }); return [$is, $cache->has($key)]; })()';
            self::assertSame([[$isRead, $isRead], ['a'], $all(!$isRead, true)], $this->release($second, '[' . $each('$cache->has($key)') . ", \$cache->get('plain'), " . $each($computes) . ']', $near));
            self::assertSame([[true, true], [$isRead, $isRead]], [$this->release($second, $each('$cache->has($key)'), $near), $this->release($first, $each('$cache->has($key)'), $near)]);
        }
    }

    public function testAValueOfAClassThatIsGoneIsMissed(): void
    {
        $item = 'class Item { public $part; }';
        self::assertTrue($this->release("class Part {} $item", '$cache->set("k", (function () { $item = new Item; $item->part = new Part; return $item; })())', 'none'));
        self::assertSame([false, 'computed'], $this->release($item, '[$cache->has("k"), $cache->remember("k", fn() => "computed")]', 'none'));
    }

    public function testWithoutTheOptionTheValueIsReadAsEver(): void
    {
        self::assertTrue($this->release('class Item { public int $a = 1; }', '$cache->set("k", new Item)', 'none', []));
        self::assertTrue($this->release('class Item { public int $b = 1; }', '$cache->get("k") instanceof Item', 'none', []));
        // Nor does what was stored with it stand in the way of whoever does not have it.
        self::assertTrue($this->release('class Item { public int $a = 1; }', '$cache->set("k", new Item)', 'none'));
        self::assertTrue($this->release('class Item { public int $b = 1; }', '$cache->get("k") instanceof Item', 'none', []));
    }

    public function testTheAllowedClassesAreThoseOfEachProcess(): void
    {
        $this->logged = 'the option "classes" does not allow';
        $class = 'class Item { public int $a = 1; } class Other { function __wakeup(): void { touch("' . $this->directory->file('woken') . '"); } }';
        self::assertTrue($this->release($class, '$cache->set("item", new Item) && $cache->set("other", [new Other]) && $cache->set("text", "x")', 'none', []));
        foreach ([['classes' => ['Item']], ['classes' => 'Item,Nothing', 'fingerprint' => false]] as $options) {
            // What another serializer has written is missed, since it cannot be told which classes are allowed.
            self::assertSame([false, 'x'], $this->release($class, '[$cache->has("other"), $cache->get("text")]', 'none', $options));
            self::assertTrue($this->release($class, '$cache->set("item", new Item) && $cache->get("item") instanceof Item', 'none', $options));
        }
        self::assertSame([false, 'x'], $this->release($class, '[$cache->has("item"), $cache->get("text")]', 'none', ['classes' => false]));
        self::assertFileDoesNotExist($this->directory->file('woken'));
        $refused = $this->release($class, '(function () use ($cache) { try { return $cache->set("other", new Other); } catch (Larder\Codec\NotStorable $e) { return $e->getMessage(); } })()', 'none', ['classes' => ['Item']]);
        self::assertIsString($refused);
        self::assertStringContainsString('the class Other, which the option "classes" does not allow', $refused);
    }

    /** @param array<string, mixed> $options */
    private function release(string $code, string $action, string $near, array $options = ['fingerprint' => true]): mixed
    {
        $options += ['dsn' => 'sqlite://' . $this->directory->file('cache'), 'near' => $near];
        $process = Process::php(__DIR__ . '/release.php', [\json_encode($options, \JSON_THROW_ON_ERROR), $code, $action]);
        $process->closeInput();
        $output = $process->output(60.0);
        $errors = $this->logged === '' ? $process->errors() : \preg_replace('/^larder: The key "[\w ]+" is a miss\. A stored value could not be decoded: ' . $this->logged . '.*\n/m', '', $process->errors());
        self::assertSame([0, ''], [$process->wait(60.0), $errors], $output);

        return \json_decode($output, true);
    }
}
