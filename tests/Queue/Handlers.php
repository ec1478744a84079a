<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

/** Handlers that are a class and a method. */
final class Handlers
{
    public function __invoke(string $body): void
    {
        self::write("invoked $body");
    }

    public static function send(string $body): void
    {
        self::write("sent $body");
    }

    private static function write(string $line): void
    {
        \file_put_contents((string) \getenv('TEST_LOG'), "$line\n", \FILE_APPEND);
    }
}
