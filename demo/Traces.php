<?php

declare(strict_types=1);

namespace Larder\Demo;

use Larder\Config\Directory;
use Larder\Config\Options;
use Larder\Config\StoreFactory;
use Larder\System\PrivateDirectory;

/**
 * What a cache without a disk tier leaves in the user's own directory: the file for what could not be recorded. The
 * show notes by what mark such files are known, and the supervisor removes them, whatever became of the show.
 */
final readonly class Traces
{
    private const NOTES = '/traces';

    private string $directory;
    private bool $wasThere;

    public function __construct()
    {
        $this->directory = Directory::default();
        $this->wasThere = \is_dir($this->directory);
    }

    public static function note(string $dsn): void
    {
        \file_put_contents(\sys_get_temp_dir() . self::NOTES, StoreFactory::mark(Options::from($dsn)) . "\n", \FILE_APPEND);
    }

    public function remove(string $notes): void
    {
        $notes .= self::NOTES;
        foreach (\is_file($notes) ? (array) \file($notes, \FILE_IGNORE_NEW_LINES) : [] as $mark) {
            foreach (\glob($this->directory . '/*-' . $mark . '*') ?: [] as $file) {
                \unlink($file);
            }
        }
        $tag = $this->directory . '/' . PrivateDirectory::MARK;
        if (!$this->wasThere && \is_file($tag) && \count((array) \scandir($this->directory)) === 3) {
            \unlink($tag);
            \rmdir($this->directory);
        }
    }
}
