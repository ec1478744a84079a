<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** An engine that is asked by something else than its keys. */
interface NamingDriver extends Driver
{
    /**
     * What read() takes: made before the clock starts.
     *
     * @param non-empty-list<string> $keys
     *
     * @return non-empty-list<string>
     */
    public function names(array $keys): array;
}
