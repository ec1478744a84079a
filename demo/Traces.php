<?php

declare(strict_types=1);

namespace Larder\Demo;

use Larder\Config\Directory;
use Larder\Config\Options;
use Larder\Config\StoreFactory;

/** What a cache without a disk tier leaves in the user's own directory: the file for what cannot be recorded. */
final readonly class Traces
{
    private function __construct(private string $directory, private bool $wasThere, private string $file) {}

    public static function before(string $dsn): self
    {
        $directory = Directory::default();

        return new self($directory, \is_dir($directory), $directory . '/kept-' . StoreFactory::mark(Options::from($dsn)));
    }

    public function remove(): void
    {
        if (\is_file($this->file)) {
            \unlink($this->file);
        }
        if (!$this->wasThere && \is_dir($this->directory) && \array_diff((array) \scandir($this->directory), ['.', '..', 'CACHEDIR.TAG']) === []) {
            \unlink($this->directory . '/CACHEDIR.TAG');
            \rmdir($this->directory);
        }
    }
}
