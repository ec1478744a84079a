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
    Larder\Codec\Entry::class,
    Larder\Codec\EntrySigner::class,
    Larder\Codec\Undecodable::class,
    Larder\Config\Assembly::class,
    Larder\Config\Dsn::class,
    Larder\Config\Options::class,
    Larder\Config\StoreFactory::class,
    Larder\Store\Change::class,
    Larder\Store\Journal\JournalSlice::class,
    Larder\Store\Outcome::class,
    Larder\Store\Record::class,
    Larder\Store\Snapshot::class,
    Larder\Store\Sqlite\ChangeCounter::class,
    Larder\Store\Sqlite\Database::class,
    Larder\Store\Sqlite\DatabaseFiles::class,
    Larder\Store\Sqlite\Opening::class,
    Larder\Store\Sqlite\SqliteStore::class,
    Larder\Store\Sqlite\Writing::class,
    Larder\System\CircuitBreaker::class,
    Larder\System\Failure::class,
    Larder\System\FailureLog::class,
    Larder\System\FileLock::class,
    Larder\System\Fork::class,
    Larder\System\PrivateDirectory::class,
    Larder\Tier\ConflictTable::class,
    Larder\Tier\Intents::class,
    Larder\Tier\Leases::class,
    Larder\Tier\Near\ApcuNear::class,
    Larder\Tier\PendingInvalidations::class,
    Larder\Tier\Reader::class,
    Larder\Tier\Remember::class,
    Larder\Tier\Request::class,
    Larder\Tier\RequestHistory::class,
    Larder\Tier\RequestTier::class,
    Larder\Tier\Space::class,
    Larder\Tier\Truth::class,
    Larder\Tier\Verdict::class,
    Larder\Tier\View::class,
    Larder\Tier\Writer::class,
] as $class) {
    class_exists($class) || enum_exists($class);
}
