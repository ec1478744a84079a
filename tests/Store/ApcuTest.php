<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Apcu;
use Larder\Store\Store;
use Larder\Tests\Contract\StoreContract;

/** Runs in a PHP with APCu on the command line: php -d apc.enable_cli=1. */
final class ApcuTest extends StoreContract
{
    private string $lockFile;

    protected function setUp(): void
    {
        parent::setUp();
        $this->lockFile = \sys_get_temp_dir() . '/larder-apcu-' . \bin2hex(\random_bytes(6)) . '.lock';
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        \is_file($this->lockFile) && \unlink($this->lockFile);
        \apcu_clear_cache();
    }

    protected function store(): Store
    {
        return new Apcu(\basename($this->lockFile), $this->lockFile, 5.0);
    }
}
