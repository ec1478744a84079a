<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Files;
use Larder\Store\Store;
use Larder\Tests\Contract\StoreContract;

final class FilesTest extends StoreContract
{
    private string $directory;

    protected function setUp(): void
    {
        parent::setUp();
        $this->directory = \sys_get_temp_dir() . '/larder-files-' . \bin2hex(\random_bytes(6));
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        \exec('rm -rf ' . \escapeshellarg($this->directory));
    }

    protected function store(): Store
    {
        return new Files($this->directory, 64_000_000, 5.0);
    }
}
