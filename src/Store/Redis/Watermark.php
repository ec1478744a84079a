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
 *     file     <this web server's id, 16> <epoch, 16> <position, 16>-<nonce, 12> <milliseconds of the last change made here, 13>
 *
 * A change may be acknowledged by a server that another one has just replaced, for others already. So a process that finds another epoch
 * than the file's asks whether that one knows of this end, or began later.
 *
 * It is overwritten in place, so a full disk is no obstacle. Where it cannot be written, nothing would notice what was lost, so
 * the endpoint then counts as down.
 */
final class Watermark
{
    private const LENGTH = 77;

    /** Milliseconds by which the clocks of the web servers may differ. */
    private const SKEW = 1_000;

    private readonly FileLock $lock;

    /** @param float $timeout seconds for which a process waits for another one that reads or writes it */
    public function __construct(private readonly string $path, float $timeout)
    {
        $this->lock = new FileLock('Redis', $path, $timeout);
    }

    /**
     * @return array{string, string, string, int} the web server's id, an epoch, and an end with its nonce; '' for both if none is
     *                                            known; and milliseconds after which another epoch must have begun that does not know it
     *
     * @throws Failure
     */
    public function read(): array
    {
        return $this->locked(function ($file): array {
            [$id, $epoch, $end, $changed] = $this->content($file) ?? $this->write($file, \bin2hex(\random_bytes(8)), '', '', 0);

            return [$id, $epoch, $end, $changed === 0 ? 0 : $changed + self::SKEW];
        });
    }

    /**
     * Notes the end that was found, unless the file has a newer one.
     *
     * @param string $instead the epoch that may be replaced even if its name says that it is newer: it was judged
     *
     * @throws Failure
     */
    public function found(string $epoch, string $end, string $instead): void
    {
        $this->locked(function ($file) use ($epoch, $end, $instead): void {
            [$id, $known, $at, $changed] = $this->content($file) ?? [\bin2hex(\random_bytes(8)), '', '', 0];
            if ($known === $epoch ? \strcmp($end, $at) > 0 : $known === $instead || \strcmp($epoch, $known) > 0) {
                $this->write($file, $id, $epoch, $end, $changed);
            }
        });
    }

    /**
     * Notes the end that a change has made.
     *
     * @throws Failure also where this web server has found another epoch meanwhile: the change is in none that counts
     */
    public function made(string $epoch, string $end): void
    {
        $this->locked(function ($file) use ($epoch, $end): void {
            [$id, $known, $at] = $this->content($file) ?? [\bin2hex(\random_bytes(8)), '', ''];
            if (\strcmp($epoch, $known) < 0) {
                throw Failure::because('Redis', 'the endpoint has led to another server meanwhile, which does not have this change');
            }
            $this->write($file, $id, $epoch, $known === $epoch ? \max($at, $end) : $end, (int) (\microtime(true) * 1000));
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
     * @return ?array{string, string, string, int} null: it is new, or something else has written to it
     */
    private function content($file): ?array
    {
        \rewind($file);
        $text = (string) \fread($file, self::LENGTH + 1);

        return \preg_match('/^([0-9a-f]{16}) ([0-9a-f]{16}|-{16}) (\d{16}-[0-9a-f]{12}|-{29}) (\d{13})$/D', $text, $found) === 1
            ? [$found[1], \trim($found[2], '-'), \trim($found[3], '-'), (int) $found[4]] : null;
    }

    /**
     * @param resource $file
     *
     * @return array{string, string, string, int}
     *
     * @throws Failure
     */
    private function write($file, string $id, string $epoch, string $end, int $changed): array
    {
        $text = "$id " . \str_pad($epoch, 16, '-') . ' ' . \str_pad($end, 29, '-') . \sprintf(' %013d', $changed);
        \rewind($file);
        if (\fwrite($file, $text) !== self::LENGTH || !\ftruncate($file, self::LENGTH)) {
            throw Failure::because('Redis', "cannot write {$this->path}, and without it no process here would notice what the endpoint has lost; make room on its disk");
        }

        return [$id, $epoch, $end, $changed];
    }
}
