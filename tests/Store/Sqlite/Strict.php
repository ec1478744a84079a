<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\ReadsOne;
use Larder\Store\Store;
use Larder\System\Fork;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\Before;

/** An error handler that throws on whatever PHP reports, and short words for one read and one write. */
trait Strict
{
    #[Before]
    protected function beStrict(): void
    {
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    #[After]
    protected function beLenient(): void
    {
        \restore_error_handler();
    }

    /** Its position. */
    private static function put(Store $store, string $key, ?string $body, string $writer = 'aaaaaaaaaaaa', string $kind = 's'): int
    {
        $outcome = $store->write([new Change($key, $body, $writer, kind: $body === null ? 'd' : $kind)])[0];
        self::assertTrue($outcome->done);

        return $outcome->position;
    }

    /** As get(), by the shorter way. */
    private static function one(ReadsOne $store, string $key): ?string
    {
        Fork::pid();
        $read = $store->readOne($key);

        return \is_array($read) ? $read[0] : ($read->records[$key] ?? null)?->body;
    }

    private static function get(Store $store, string $key): ?string
    {
        return ($store->read([$key])->records[$key] ?? null)?->body;
    }
}
