<?php

declare(strict_types=1);

namespace Larder\Request;

/**
 * What Cache implements so that the extension puts its own get() in the place of that of PlainGetPath (ext/hit_path.c).
 *
 * The extension declares this interface too; then this file is not loaded. A developer who changes it, or a property of PlainGetPath,
 * gives it another name, in both places: a server may have an extension that is older or newer than the library.
 *
 * An interface, and not a parent: of a class that extends one in C, PHP makes no lazy objects (ReflectionClass::newLazyProxy()),
 * as frameworks do of their services. Nor a trait in C: with one, PHP 8.2 does not preload (preload_fix_trait_op_array()).
 */
interface HitPath
{
    /**
     * Each get checks the clock. Only in a loop that does nothing else but get (Cache::check()), does one get in RUN + 1
     * check it. In C it costs next to nothing, so each get checks it there and RUN is 0.
     */
    public const RUN = 31;

    public function get(string $key, mixed $default = null): mixed;
}
