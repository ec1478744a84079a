<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\WordPress\Intent\Control;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** Which statements begin and end transactions. */
final class IntentControlTest extends TestCase
{
    #[DataProvider('statements')]
    public function testFindsWhatAStatementDoes(string $sql, string ...$controls): void
    {
        self::assertSame($controls, \array_column(Control::of($sql), 'name'));
    }

    /** @return iterable<list<string>> */
    public static function statements(): iterable
    {
        foreach (['START TRANSACTION', "\t start\n transaction ;", 'START TRANSACTION READ WRITE', '/* x */ START /* y */ TRANSACTION', '/*!50000 START TRANSACTION */',
            'BEGIN', 'begin work', "-- it's\nBEGIN", '#x
            BEGIN', 'XA START \'x\'', 'xa begin \'x\'', '/*!START*//**/TRANSACTION'] as $sql) {
            yield $sql => [$sql, 'Begin'];
        }
        foreach (['BEGIN NOT ATOMIC START TRANSACTION; END', 'IF 1 THEN START TRANSACTION; END IF', 'REPEAT SET autocommit = 0; UNTIL 1 END REPEAT', 'SET STATEMENT max_statement_time = 1 FOR BEGIN',
            'EXECUTE IMMEDIATE \'START TRANSACTION\''] as $sql) {
            yield $sql => [$sql, 'Begin'];
        }
        yield ['START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY', 'BeginWithSnapshot'];
        foreach (['COMMIT', 'commit work;', 'COMMIT AND NO CHAIN', 'COMMIT RELEASE', '/* x */ COMMIT -- y', '/*! COMMIT */', 'XA COMMIT \'x\' ONE PHASE'] as $sql) {
            yield $sql => [$sql, 'Commit'];
        }
        foreach (['ROLLBACK', ' Rollback Work', 'ROLLBACK AND NO CHAIN NO RELEASE', 'ROLLBACK RELEASE', 'XA ROLLBACK \'x\''] as $sql) {
            yield $sql => [$sql, 'RollBack'];
        }
        yield ['COMMIT AND CHAIN', 'CommitAndChain'];
        yield ['COMMIT WORK AND CHAIN NO RELEASE', 'CommitAndChain'];
        yield ['ROLLBACK WORK AND CHAIN', 'RollBackAndChain'];
        foreach (['ROLLBACK TO x', 'ROLLBACK WORK TO SAVEPOINT `x`', '/*!40000 ROLLBACK TO x */'] as $sql) {
            yield $sql => [$sql, 'RollBackToSavepoint'];
        }
        foreach (['SET autocommit=0', 'set @@autocommit := off', 'SET SESSION autocommit = \'OFF\'', 'SET @@session.autocommit = FALSE', 'SET `autocommit`=0', 'SET LOCAL autocommit = @old',
            'SET NAMES utf8, autocommit=0', 'SET @a = (SELECT 1, 2), AUTOCOMMIT = 0', '/*!40101 SET @OLD=@@AUTOCOMMIT, AUTOCOMMIT=0 */', 'SET @@local.autocommit = 1 - 1', 'SET GLOBAL x = 1, SESSION autocommit = 0',
            'SET @@global.x = 1, autocommit = 0'] as $sql) {
            yield $sql => [$sql, 'AutocommitOff'];
        }
        foreach (['SET autocommit=1', 'SET @@SESSION.autocommit = ON', 'SET autocommit = TRUE, x = 0', 'SET x = \'a, autocommit = 0\', autocommit = \'1\''] as $sql) {
            yield $sql => [$sql, 'AutocommitOn'];
        }
        yield ['SET autocommit = 0, completion_type = CHAIN', 'AutocommitOff', 'ChainsOn'];
        yield ['SET completion_type = \'NO_CHAIN\'', 'ChainsOff'];
        yield ['SET completion_type = 1', 'ChainsOn'];
        yield ['LOCK TABLES wp_posts WRITE', 'Lock'];
        yield ['lock table a read', 'Lock'];
        yield ['UNLOCK TABLES', 'Unlock'];
        foreach (['CREATE TABLE a (b INT)', 'CREATE OR REPLACE TABLE a (b INT)', 'CREATE INDEX a ON b (c)', 'CREATE USER a', 'ALTER TABLE a ADD b INT', 'ALTER USER a', 'DROP TABLE a', 'DROP DATABASE a',
            'DROP INDEX a ON b', 'RENAME TABLE a TO b', 'RENAME USER a TO b', 'TRUNCATE a', 'TRUNCATE TABLE a', 'GRANT ALL ON a TO b', 'REVOKE ALL ON a FROM b', 'SET PASSWORD = \'x\'', 'SET PASSWORD FOR a = \'x\'',
            'ANALYZE TABLE a', 'ANALYZE LOCAL TABLES a', 'CHECK TABLE a', 'OPTIMIZE NO_WRITE_TO_BINLOG TABLE a', 'REPAIR TABLE a', 'FLUSH TABLES', 'FLUSH LOCAL PRIVILEGES', 'RESET MASTER', 'CACHE INDEX a IN b',
            'LOAD INDEX INTO CACHE a', 'INSTALL PLUGIN a SONAME \'b\'', 'START SLAVE', 'STOP REPLICA', 'CHANGE MASTER TO MASTER_HOST = \'a\''] as $sql) {
            yield $sql => [$sql, 'CommitByTheWay'];
        }
        foreach (['SELECT 1', 'INSERT INTO a VALUES (\'COMMIT\')', 'UPDATE a SET b = 1', 'DELETE FROM a', 'SAVEPOINT x', 'RELEASE SAVEPOINT x', 'CREATE TEMPORARY TABLE a (b INT)', 'CREATE OR REPLACE TEMPORARY TABLE a (b INT)',
            'DROP TEMPORARY TABLE a', 'DROP PREPARE a', 'RESET PERSIST', 'LOAD DATA INFILE \'a\' INTO TABLE b', 'LOCK INSTANCE FOR BACKUP', 'UNLOCK INSTANCE', 'SET GLOBAL autocommit = 0', 'SET GLOBAL a = 1, autocommit = 0',
            'SET @@global.autocommit = 0', 'SET @autocommit = 0', 'SET NAMES utf8', 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED', 'BEGIN NOT ATOMIC COMMIT; END', 'XA END \'x\'', 'XA PREPARE \'x\'', 'ANALYZE SELECT 1', 'CHECKSUM TABLE a',
            '-- COMMIT', '/* COMMIT */', '/*!50000 COMMIT */', '/*M!100000 ROLLBACK */', '/*!99999 DROP TABLE a */', 'COMMITTED', ''] as $sql) {
            yield $sql => [$sql];
        }
    }
}
