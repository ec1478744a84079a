<?php

declare(strict_types=1);

/*
 * For opcache.preload in php.ini: the classes that a request needs which only reads are in memory before it begins,
 * so that opening the cache costs it no loading. Name this file there, or require it from your own preload script,
 * after Composer's autoloader. It loads classes and does nothing else.
 */

foreach ([
    Larder\Cache::class,
    Larder\Codec\Codec::class,
    Larder\Codec\Compression::class,
    Larder\Codec\Undecodable::class,
    Larder\Config\Assembly::class,
    Larder\Config\Directory::class,
    Larder\Config\Dsn::class,
    Larder\Config\Options::class,
    Larder\Config\StoreFactory::class,
    Larder\Journal\Ledger::class,
    Larder\Lease\Leases::class,
    Larder\Store\Change::class,
    Larder\Store\Changes::class,
    Larder\Store\Outcome::class,
    Larder\Store\Record::class,
    Larder\Store\Sqlite\Bell::class,
    Larder\Store\Sqlite\Database::class,
    Larder\Store\Sqlite\Home::class,
    Larder\Store\Sqlite\Opening::class,
    Larder\Store\Sqlite\SqliteStore::class,
    Larder\Store\Sqlite\Writing::class,
    Larder\Store\StoreFailure::class,
    Larder\Store\View::class,
    Larder\Tier\Alarm::class,
    Larder\Tier\ApcuNear::class,
    Larder\Tier\Computation::class,
    Larder\Tier\Copies::class,
    Larder\Tier\Entry::class,
    Larder\Tier\Envelope::class,
    Larder\Tier\Intents::class,
    Larder\Tier\Judge::class,
    Larder\Tier\Kept::class,
    Larder\Tier\Lock::class,
    Larder\Tier\Space::class,
    Larder\Tier\Stack::class,
    Larder\Tier\Tiers::class,
    Larder\Tier\Truth::class,
    Larder\Tier\Verdict::class,
    Larder\Tier\Writer::class,
] as $class) {
    class_exists($class) || enum_exists($class);
}
