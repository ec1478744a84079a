<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Codec\Undecodable;
use Larder\Request\RequestTier;
use Larder\Tests\Faults\Lines;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** A value that cannot be decoded is a miss each time: the log tells which, and why. Of a deployment that changed a class it says nothing. */
#[CoversClass(RequestTier::class)]
#[CoversClass(Undecodable::class)]
final class UndecodableValueTest extends TestCase
{
    private TemporaryDirectory $directory;

    private Lines $log;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        Asleep::$fails = false;
        $this->log = new Lines();
    }

    public function testTheLogSaysWhyAnObjectThatCannotWakeUpIsAMiss(): void
    {
        $this->open()->set('the key', new Asleep());
        self::assertEquals(new Asleep(), $this->open()->get('the key'));
        self::assertSame([], $this->log->lines);

        Asleep::$fails = true;
        self::assertSame('none', $this->open()->get('the key', 'none'));
        self::assertSame('none', $this->open()->get('the key', 'none'));
        self::assertSame(['warning: larder: The key "the key" is a miss. A stored value could not be decoded: DomainException: cannot wake up'], $this->log->lines);
    }

    public function testNothingIsSaidOfAClassThatWasDeployedAnew(): void
    {
        $this->open(['fingerprint' => true])->set('key', new Asleep());
        $this->open()->set('other', new Asleep());
        self::assertEquals(new Asleep(), $this->open(['fingerprint' => true])->get('key'));
        self::assertNull($this->open(['fingerprint' => true])->get('other'));
        self::assertSame([], $this->log->lines);
    }

    /** @param array<string, mixed> $options */
    private function open(array $options = []): Cache
    {
        return Cache::open(['dsn' => 'sqlite://' . $this->directory->file('cache'), 'near' => 'none', 'logger' => $this->log] + $options);
    }
}

final class Asleep
{
    public static bool $fails = false;

    public int $age = 5;

    /** @return array<string, mixed> */
    public function __serialize(): array
    {
        return ['age' => $this->age];
    }

    /** @param array<string, mixed> $data */
    public function __unserialize(array $data): void
    {
        self::$fails && throw new \DomainException('cannot wake up');
        $this->age = 5;
    }
}
