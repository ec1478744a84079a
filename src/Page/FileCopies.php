<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\System\Quiet;
use Larder\System\ServerPolicy;

/**
 * Copies in files: a directory a shard. The shard's size in bytes stands in its lock file.
 *
 * A copy is written beside its place and renamed, so a reader sees all of one or all of the other. Nothing is synced: after
 * a power cut they are not read. A reader now and then sets a copy's modification time (Serve), and the copies with the
 * oldest times go first when a shard has grown over its part of the budget.
 *
 * @phpstan-import-type Copy from Serve
 */
final class FileCopies implements Copies
{
    /** A file takes whole blocks. */
    private const BLOCK = 4_096;

    /** Of a shard that has become too large, so much stays: not each copy costs a look at all. */
    private const KEPT = 0.8;

    /** Where a new copy is written. Only the lock's holder does so. */
    private const NEW = 'new';

    /** @param int $budget bytes */
    public function __construct(private readonly string $directory, private readonly int $budget, private readonly ?ServerPolicy $policy = null) {}

    public function put(mixed $lock, string $name, array $copy, array $ready, string $body, int $life): void
    {
        $head = Serve::head($copy, $ready);
        $bytes = \sprintf('%0' . Serve::HEAD . 'd', \strlen($head)) . $head . $body;
        $size = self::blocks(\strlen($bytes));
        $most = \intdiv(($this->policy ?? new ServerPolicy())->atMost($this->budget, 'disk'), self::SHARDS);
        if ($size > $most || \strlen($head) >= 10 ** Serve::HEAD) {
            $this->drop($name);

            return;
        }
        Quiet::begin();
        try {
            $shard = "$this->directory/$name[0]";
            \is_dir($shard) || \mkdir($shard, 0o700, true);
            \clearstatcache();
            $old = \is_file("$shard/$name") ? self::blocks((int) \filesize("$shard/$name")) : 0;
            $total = (int) \stream_get_contents($lock, 20, 0) - $old + $size;
            if ($total > $most) {
                $total = $this->evict($shard, $name, (int) ($most * self::KEPT) - $size) + $size;
            }
            // Before the copy, so that a process that dies in between has counted too much and not too little.
            if (\ftruncate($lock, 0) && \fseek($lock, 0) === 0 && \fwrite($lock, (string) $total) !== false && \file_put_contents("$shard/" . self::NEW, $bytes) === \strlen($bytes)) {
                \chmod("$shard/" . self::NEW, 0o600);
                \rename("$shard/" . self::NEW, "$shard/$name");
            }
        } finally {
            Quiet::end();
        }
    }

    public function drop(string $name): void
    {
        Quiet::remove("$this->directory/$name[0]/$name");
    }

    public function counter(string $name, string $key): ?int
    {
        $bytes = (string) Quiet::call(fn(): string|false => \file_get_contents("$this->directory/$name[0]/$name"));
        $length = (int) \substr($bytes, 0, Serve::HEAD);
        $copy = Quiet::call(static fn(): array => Serve::copy(\substr($bytes, Serve::HEAD, $length)));
        if (($copy['key'] ?? '') !== $key || \strlen($bytes) !== Serve::HEAD + $length + \array_sum($copy['page']['forms'] ?? [])) {
            return null;
        }

        return $copy['counter'] ?? null;
    }

    public function wipe(): void
    {
        Quiet::call(function (): void {
            // First out of sight, for a process that dies here.
            $away = $this->directory . '-' . \bin2hex(\random_bytes(6));
            \is_dir($this->directory) && \rename($this->directory, $away);
            foreach (\scandir(\dirname($away)) ?: [] as $each) {
                \str_starts_with($each, \basename($this->directory) . '-') && self::remove(\dirname($away) . "/$each");
            }
        });
    }

    /** @return int bytes that are left */
    private function evict(string $shard, string $name, int $most): int
    {
        $times = $sizes = [];
        foreach (\scandir($shard) ?: [] as $each) {
            if ($each[0] !== '.' && $each !== $name) {
                $times[$each] = (int) \filemtime("$shard/$each");
                $sizes[$each] = self::blocks((int) \filesize("$shard/$each"));
            }
        }
        \asort($times);
        $left = (int) \array_sum($sizes);
        foreach ($times as $each => $_) {
            if ($left <= $most) {
                break;
            }
            \unlink("$shard/$each");
            $left -= $sizes[$each];
        }

        return $left;
    }

    private static function blocks(int $bytes): int
    {
        return (\intdiv($bytes - 1, self::BLOCK) + 1) * self::BLOCK;
    }

    private static function remove(string $path): void
    {
        if (\is_link($path) || !\is_dir($path)) {
            \unlink($path);

            return;
        }
        foreach (\scandir($path) ?: [] as $each) {
            $each === '.' || $each === '..' || self::remove("$path/$each");
        }
        \rmdir($path);
    }
}
