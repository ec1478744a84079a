<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/**
 * A copy of the classes of src/ in a namespace of its own, made as they are asked for.
 *
 * Calls of PHP functions that reach outside of a process go to Machine, classes in DOUBLES are replaced by what lies in
 * Inside/, and destructors are left out (the model decides when a request ends). Nothing else differs, so that a change
 * of the code changes the model. A mutant is a copy in which one piece of the source is replaced by another.
 */
final class Copy
{
    /** Class to the one in Inside/ that takes its place. */
    private const DOUBLES = [
        'System\Coroutine' => 'NoCoroutine',
        'System\ProcessId' => 'Owner',
        'System\LockHolders' => 'Holders',
        'Driver\Memcached\Batch' => 'Batch',
    ];

    private static int $copies = 0;

    private readonly string $namespace;

    /** @var array<string, true> classes of which a piece was replaced */
    private array $mutated = [];

    /**
     * @param array<string, array<string, string>> $mutations class to pieces of its source, each with what takes its place
     * @param array<string, string>                $doubles   more of them, as DOUBLES
     */
    public function __construct(private readonly array $mutations = [], private readonly array $doubles = [])
    {
        $this->namespace = 'Larder\Tests\Copy' . self::$copies++;
        \spl_autoload_register($this->load(...));
    }

    /**
     * A new object of the copy's class.
     *
     * @param string $class without "Larder\"
     */
    public function make(string $class, mixed ...$arguments): object
    {
        $name = $this->name($class);

        return new $name(...$arguments);
    }

    /** @return class-string */
    public function name(string $class): string
    {
        /** @var class-string */
        return "$this->namespace\\$class";
    }

    /** Every mutation was met by a class that was used. */
    public function isMutated(): bool
    {
        return \count($this->mutated) === \count($this->mutations);
    }

    private function load(string $name): void
    {
        if (!\str_starts_with($name, $this->namespace . '\\')) {
            return;
        }
        $class = \substr($name, \strlen($this->namespace) + 1);
        $double = self::DOUBLES[$class] ?? $this->doubles[$class] ?? null;
        if ($double !== null) {
            \class_alias($this->name('Tests\Model\Inside\\' . $double), $name);

            return;
        }
        $root = \dirname(__DIR__, 2);
        $path = \str_starts_with($class, 'Tests\\') ? '/tests/' . \substr($class, 6) : "/src/$class";
        $source = (string) \file_get_contents($root . \str_replace('\\', '/', $path) . '.php');
        foreach ($this->mutations[$class] ?? [] as $piece => $instead) {
            // Lines may be wrapped in another way.
            $pattern = '~' . \preg_replace('~\s+~', '\s+', \preg_quote($piece, '~')) . '~';
            $source = (string) \preg_replace_callback($pattern, static fn(): string => $instead, $source, -1, $count);
            if ($count !== 1) {
                throw new \LogicException("src/$class.php has this $count times, not once; write the mutant anew: $piece");
            }
            $this->mutated[$class] = true;
        }
        eval(\substr($this->rewritten($source), 5));
    }

    private function rewritten(string $source): string
    {
        $source = (string) \preg_replace('~\bLarder\\\\(?!Tests\\\\(?!Model\\\\Inside\b))~', $this->namespace . '\\', $source);
        $source = \str_replace('namespace Larder;', "namespace $this->namespace;", $source);
        $functions = \implode('|', Machine::ANSWERED);
        $source = (string) \preg_replace("~(?<![\\w\\\\>:])\\\\($functions)\\(~", '\\' . Machine::class . '::$1(', $source);

        return \str_replace('function __destruct(', 'function leftOut(', $source);
    }
}
