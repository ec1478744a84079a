<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Lock;

use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Lock\Locks;
use Symfony\Component\Lock\Exception\InvalidArgumentException;
use Symfony\Component\Lock\PersistingStoreInterface;
use Symfony\Component\Lock\Store\StoreFactory;

/** Makes the stores of framework.lock: `larder://` is the bundle's own, and what begins with `larder+` a DSN of Larder's locks. */
final readonly class LarderStores
{
    private const OWN = 'larder://';
    private const SCHEME = 'larder+';

    /** Of the query: whether a lock may outlive its process, for keys that are serialized. */
    private const HANDS_OVER = 'handover';

    /** @param string|array<string, mixed> $locks what `larder://` means, as of Locks::open() */
    public function __construct(#[\SensitiveParameter] private string|array $locks) {}

    public static function isOurs(string $dsn): bool
    {
        return \str_starts_with($dsn, self::OWN) || \str_starts_with($dsn, self::SCHEME);
    }

    public function create(#[\SensitiveParameter] mixed $connection): PersistingStoreInterface
    {
        if (!\is_string($connection) || !self::isOurs($connection)) {
            return StoreFactory::createStore(\is_string($connection) || \is_object($connection) ? $connection : throw new InvalidArgumentException('A lock store is a DSN or a connection.'));
        }
        try {
            [$place, $options] = Dsn::split($connection);
            $handsOver = \filter_var($options[self::HANDS_OVER] ?? null, \FILTER_VALIDATE_BOOL);
            unset($options[self::HANDS_OVER]);
            $own = \is_array($this->locks) ? $this->locks : ['dsn' => $this->locks];
            $source = $place === self::OWN ? [...$own, ...$options] : ['dsn' => Dsn::with(\substr($place, \strlen(self::SCHEME)), $options)];
            $dsn = $source['dsn'] ?? '';
            // Over a server a lock is tied to no process.
            return new LarderStore(Locks::open($source), $handsOver || !\is_string($dsn) || !\str_starts_with($dsn, 'sqlite:'));
        } catch (InvalidConfiguration $wrong) {
            throw new InvalidArgumentException($wrong->getMessage(), 0, $wrong);
        }
    }
}
