<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * A file a value, as applications write them: serialized, into a temporary file, renamed; read by file_get_contents.
 *
 * Readers so see the old value or the new one, whole. Nothing is forced to the disk (fsync). Keys are names of files.
 */
final class FilesDriver extends Driver
{
    private readonly string $directory;
    private readonly ?Functions $functions;
    private readonly Complaint $complaint;
    private string $temporary = '';

    /** @param array<string, string|int> $parameters directory; serializer; raw 1: strings are stored as they are */
    public function __construct(array $parameters)
    {
        $given = new Parameters($parameters);
        $this->directory = $given->directory() . '/';
        $this->functions = Functions::ofSerializer($given->flag('raw') ? 'none' : $given->serializer());
        $this->complaint = new Complaint();
    }

    public function connect(): void
    {
        // One a process: it writes one value at a time.
        $this->temporary = $this->directory . '.writing-' . \getmypid();
    }

    public function write(array $values): void
    {
        $directory = $this->directory;
        $temporary = $this->temporary;
        $this->complaint->listen();
        try {
            $serialize = $this->functions?->there;
            foreach ($values as $key => $value) {
                if (\file_put_contents($temporary, $serialize === null ? $value : $serialize($value)) === false || !\rename($temporary, $directory . $key)) {
                    throw EngineFailure::refused('The file system', 'store it', $this->complaint->text);
                }
            }
        } finally {
            \restore_error_handler();
        }
    }

    public function read(array $keys): mixed
    {
        $directory = $this->directory;
        $value = null;
        // A file that is not there is a warning and false.
        $this->complaint->listen();
        try {
            if ($this->functions === null) {
                foreach ($keys as $key) {
                    $value = \file_get_contents($directory . $key);
                }
            } else {
                $unserialize = $this->functions->back;
                foreach ($keys as $key) {
                    $data = \file_get_contents($directory . $key);
                    $value = $data === false ? false : $unserialize($data);
                }
            }
        } finally {
            \restore_error_handler();
        }
        if ($value === false && !\is_dir($directory)) {
            throw EngineFailure::refused('The file system', 'give it', $this->complaint->text);
        }

        return $value;
    }
}
