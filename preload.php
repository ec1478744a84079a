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
    PrivateDirectory::class,
    Larder\Config\Dsn::class,
    Larder\Config\Options::class,
    Larder\Config\StoreFactory::class,
    RequestHistory::class,
    Leases::class,
    Larder\Store\Change::class,
    Larder\Store\Changes::class,
    Larder\Store\Outcome::class,
    Larder\Store\Record::class,
    ChangeCounter::class,
    Larder\Store\Sqlite\Database::class,
    DatabaseFiles::class,
    Larder\Store\Sqlite\Opening::class,
    Larder\Store\Sqlite\SqliteStore::class,
    Larder\Store\Sqlite\Writing::class,
    Failure::class,
    Snapshot::class,
    FailureLog::class,
    ApcuNear::class,
    Remember::class,
    RequestTier::class,
    Larder\Tier\Entry::class,
    Larder\Tier\Envelope::class,
    Larder\Tier\Intents::class,
    ConflictTable::class,
    PendingInvalidations::class,
    BoundedLock::class,
    Larder\Tier\Space::class,
    View::class,
    Request::class,
    Larder\Tier\Truth::class,
    Larder\Tier\Verdict::class,
    Larder\Tier\Writer::class,
] as $class) {
    class_exists($class) || enum_exists($class);
}
