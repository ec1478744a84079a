<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\Quiet;

/**
 * The newest end of a journal that any process of this web server has found or made, in a file.
 *
 * It stands for the run id where an endpoint hides that. Behind such an endpoint another server may take over at any time, with
 * less than what the one before had acknowledged. Its journal then lacks this end, or has another nonce at its position:
 * Script::OPEN compares, and begins a new epoch.
 *
 *     file     <this web server's id, 16> <epoch, 16> <position, 16>-<nonce, 12>
 *
 * It is overwritten in place, so a full disk is no obstacle. Where it cannot be written, nothing would notice what was lost, so
 * the endpoint then counts as down.
 */
final class Watermark
{
    private const LENGTH = 63;

    /** Seconds for which a process waits for another one that writes. */
    private const PATIENCE = 1.0;

    private readonly FileLock $lock;

    public function __construct(private readonly string $path)
    {
        $this->lock = new FileLock('Redis', $path, self::PATIENCE);
    }

    /**
     * @return array{string, string, string} the web server's id, an epoch, and an end with its nonce; '' for both if none is known
     *
     * @throws Failure
     */
    public function read(): array
    {
        return $this->locked(fn($file): array => $this->content($file) ?? $this->write($file, \bin2hex(\random_bytes(8)), '', ''));
    }

    /**
     * Notes an end, unless the file has a newer one.
     *
     * @param string $instead the epoch that may be replaced even if its name says that it is newer: it was judged
     *
     * @throws Failure
     */
    public function note(string $epoch, string $end, string $instead = ''): void
    {
        $this->locked(function ($file) use ($epoch, $end, $instead): void {
            [$id, $known, $at] = $this->content($file) ?? [\bin2hex(\random_bytes(8)), '', ''];
            if ($known === $epoch ? \strcmp($end, $at) > 0 : $known === $instead || \strcmp($epoch, $known) > 0) {
                $this->write($file, $id, $epoch, $end);
            }
        });
    }

    /**
     * @template T
     *
     * @param \Closure(resource): T $work
     *
     * @return T
     *
     * @throws Failure
     */
    private function locked(\Closure $work): mixed
    {
        Quiet::begin();
        try {
            return $work($this->lock->exclusive());
        } finally {
            $this->lock->release();
            Quiet::end();
        }
    }

    /**
     * @param resource $file
     *
     * @return ?array{string, string, string} null: it is new, or something else has written to it
     */
    private function content($file): ?array
    {
        \rewind($file);
        $text = (string) \fread($file, self::LENGTH + 1);

        return \preg_match('/^([0-9a-f]{16}) ([0-9a-f]{16}|-{16}) (\d{16}-[0-9a-f]{12}|-{29})$/D', $text, $found) === 1
            ? [$found[1], \trim($found[2], '-'), \trim($found[3], '-')] : null;
    }

    /**
     * @param resource $file
     *
     * @return array{string, string, string}
     *
     * @throws Failure
     */
    private function write($file, string $id, string $epoch, string $end): array
    {
        $text = "$id " . \str_pad($epoch, 16, '-') . ' ' . \str_pad($end, 29, '-');
        \rewind($file);
        if (\fwrite($file, $text) !== self::LENGTH || !\ftruncate($file, self::LENGTH)) {
            throw Failure::because('Redis', "cannot write {$this->path}, and without it nobody here would notice what the endpoint has lost; make room on its disk");
        }

        return [$id, $epoch, $end];
    }
}
