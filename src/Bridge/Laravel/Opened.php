<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

/**
 * What this process has open, each once for all that ask with the same settings.
 *
 * A process that serves many requests may make managers for each: Laravel Octane does with those that it has not made before the
 * first request. They leave their stores to PHP's collector of cycles, which comes late, and until then each would keep files
 * or sockets open.
 */
final class Opened
{
    /** @var list<array{array<array-key, mixed>, \WeakReference<object>}> what was asked with, and what is open */
    private array $all = [];

    /**
     * @template T of object
     *
     * @param class-string<T>         $class
     * @param array<array-key, mixed> $settings everything that $open depends on
     * @param \Closure(): T           $open
     *
     * @return T the same for equal settings, as long as any object holds it
     */
    public function once(string $class, #[\SensitiveParameter] array $settings, \Closure $open): object
    {
        $isOpen = [];
        $found = null;
        foreach ($this->all as $entry) {
            $object = $entry[1]->get();
            if ($object !== null) {
                $isOpen[] = $entry;
                $found ??= $object instanceof $class && $entry[0] === $settings ? $object : null;
            }
        }
        $this->all = $isOpen;
        if ($found === null) {
            $found = $open();
            $this->all[] = [$settings, \WeakReference::create($found)];
        }

        return $found;
    }
}
