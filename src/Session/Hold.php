<?php

declare(strict_types=1);

namespace Larder\Session;

use Larder\System\Fork;
use Larder\System\Secret;

/** A session that this process has read, and may write. */
final class Hold
{
    public readonly int $process;

    // PHP shows what such an object holds in no dump, export or cast.
    private \SensitiveParameterValue $data;

    /** Whether it was written, and its lock given back. It may be written again, as long as no other owner holds it or has written it. */
    public bool $isWritten = false;

    /** @param string $version that it has read or written */
    public function __construct(
        public readonly string $key,
        public readonly string $owner,
        public string $version,
        #[\SensitiveParameter]
        string $data,
    ) {
        $this->keep($data);
        $this->process = Fork::pid();
    }

    public function data(): string
    {
        return Secret::text($this->data);
    }

    public function keep(#[\SensitiveParameter] string $data): void
    {
        $this->data = new \SensitiveParameterValue($data);
    }
}
