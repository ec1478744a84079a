<?php

declare(strict_types=1);

namespace Larder\Page\Files;

use Larder\System\Quiet;

/**
 * Which pages have files, and by which names the journal tells that they change. One line a page, in the order of writing:
 *
 *     until SP size SP path SP hash SP hash … LF
 *
 * A page's line is written before its first file can be seen, and stays when its files go. So whatever process is killed, there is
 * no file without a line. The caller holds the tree's lock.
 */
final class Index
{
    /** After how much of the budget is used pages go, oldest first, until this part of it is left. */
    private const LEFT = 0.75;

    /** @param string $file beside it lies another one: the sum of the bytes that the lines name, a space, and the bytes of all lines */
    public function __construct(private readonly string $file) {}

    /**
     * @param list<string> $names
     *
     * @return bool false: the disk is full
     */
    public function add(string $path, int $until, int $size, array $names): bool
    {
        $line = "$until $size $path " . \implode(' ', self::hashes($names)) . "\n";
        $handle = \fopen($this->file, 'c+e');
        if ($handle === false || \fseek($handle, -1, \SEEK_END) === 0 && \fread($handle, 1) !== "\n") {
            // A process was killed while it wrote, or the disk was full. The page of that line got no file.
            $line = "\n$line";
        }
        $written = $handle !== false && \fseek($handle, 0, \SEEK_END) === 0 && \fwrite($handle, $line) === \strlen($line) && \fclose($handle);

        return $written && $this->note($this->bytes() + $size + \strlen($line), $this->length() + \strlen($line));
    }

    /** Whether lines are missing, since the file was removed or cut: then pages may have files and no line. */
    public function isCut(): bool
    {
        \clearstatcache();

        return $this->length() === 0 || !\is_file($this->file) || \filesize($this->file) < $this->length();
    }

    /** The bytes of all lines that were written. The file itself may be cut at any moment, and is not asked. */
    private function length(): int
    {
        return \is_file("$this->file-bytes") ? (int) (\explode(' ', (string) \file_get_contents("$this->file-bytes"))[1] ?? 0) : 0;
    }

    private function note(int $bytes, int $length): bool
    {
        return \file_put_contents("$this->file-bytes", "$bytes $length") !== false;
    }

    public function bytes(): int
    {
        return \is_file("$this->file-bytes") ? (int) \file_get_contents("$this->file-bytes") : 0;
    }

    /**
     * The paths of all pages that one of the names concerns.
     *
     * @param list<string> $names
     *
     * @return list<string>
     */
    public function find(array $names): array
    {
        $text = $this->text();
        $paths = [];
        foreach (self::hashes($names) as $hash) {
            for ($at = \strpos($text, " $hash"); $at !== false; $at = \strpos($text, " $hash", $at + 1)) {
                $start = \strrpos($text, "\n", $at - \strlen($text));
                $line = \explode(' ', \substr($text, $start === false ? 0 : $start + 1, 2_048), 4);
                isset($line[3]) && $paths[$line[2]] = true;
            }
        }

        return \array_map(\strval(...), \array_keys($paths));
    }

    /**
     * Forgets the pages whose files no web server looks at any more, and the oldest of the others if they take too many bytes.
     *
     * @return list<string> the paths of those, whose files must go
     */
    public function compact(int $now, int $budget): array
    {
        $lines = $sizes = [];
        foreach (\explode("\n", $this->text()) as $line) {
            $part = \explode(' ', $line, 4);
            if (isset($part[3])) {
                unset($lines[$part[2]]);
                if ((int) $part[0] > $now) {
                    $lines[$part[2]] = $line;
                    $sizes[$part[2]] = (int) $part[1] + \strlen($line) + 1;
                }
            }
        }
        $sizes = \array_intersect_key($sizes, $lines);
        $bytes = \array_sum($sizes);
        $gone = [];
        foreach ($bytes > $budget * self::LEFT ? \array_keys($lines) : [] as $path) {
            if ($bytes <= $budget * self::LEFT) {
                break;
            }
            $bytes -= $sizes[$path];
            unset($lines[$path]);
            $gone[] = (string) $path;
        }
        $new = "$this->file-new";
        $length = \file_put_contents($new, \implode('', \array_map(static fn(string $line): string => "$line\n", $lines)));
        if ($length !== false && \rename($new, $this->file)) {
            $this->note($bytes, $length);
        }

        return $gone;
    }

    public function clear(): void
    {
        Quiet::remove($this->file);
        Quiet::remove("$this->file-bytes");
    }

    private function text(): string
    {
        return \is_file($this->file) ? (string) \file_get_contents($this->file) : '';
    }

    /**
     * @param list<string> $names
     *
     * @return list<string> of 16 characters; two names with one hash cost a file that need not go
     */
    private static function hashes(array $names): array
    {
        return \array_map(static fn(string $name): string => \substr(\hash('sha256', $name), 0, 16), $names);
    }
}
