<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\WordPress\Intent\Statement;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** What is read out of the statements that WordPress makes. */
final class IntentStatementTest extends TestCase
{
    #[DataProvider('tables')]
    public function testFindsTheTable(string $sql, ?string $verb, ?string $table): void
    {
        $statement = Statement::parse($sql);
        self::assertSame([$verb, $table], [$statement?->verb, $statement === null ? null : \implode(' ', $statement->tables)]);
    }

    /** @return iterable<list<?string>> */
    public static function tables(): iterable
    {
        yield ['UPDATE `wp_posts` SET `post_title` = \'x\' WHERE `ID` = 5', 'UPDATE', 'wp_posts'];
        yield ["\n\t update wp_posts\n set post_title = 'x' where ID = 5", 'UPDATE', 'wp_posts'];
        yield ['INSERT INTO `wp_posts` (`ID`) VALUES (5)', 'INSERT', 'wp_posts'];
        yield ['INSERT IGNORE INTO `wp_options` ( `option_name` ) VALUES (\'x\') /* LOCK */', 'INSERT', 'wp_options'];
        yield ['INSERT wp_posts(ID) VALUES (5)', 'INSERT', 'wp_posts'];
        yield ['REPLACE INTO `wp_posts` (`ID`) VALUES (5)', 'INSERT', 'wp_posts'];
        yield ['DELETE FROM wp_postmeta WHERE meta_id IN( 1,2 )', 'DELETE', 'wp_postmeta'];
        yield ["/* by it's */ -- and 'this\n# too\nUPDATE/**/wp_posts SET a = 1", 'UPDATE', 'wp_posts'];
        yield ['/*!40000 UPDATE */ /*!wp_posts*/ SET a = 1', 'UPDATE', 'wp_posts'];
        yield ['update low_priority ignore `site`.`WP_Posts` set a = 1', 'UPDATE', 'wp_posts'];
        yield ['UPDATE wp_posts AS p SET p.a = 1', '', 'update wp_posts as p set a'];
        yield ['UPDATE wp_posts p, wp_postmeta m SET p.a = m.b', '', 'update wp_posts p wp_postmeta m set a b'];
        yield ['UPDATE wp_posts INNER JOIN wp_postmeta ON a = b SET c = \'x\'', '', 'update wp_posts inner join wp_postmeta on a b set c x'];
        yield ['DELETE a, b FROM wp_options a, wp_options b WHERE a.x = b.x', '', 'delete a b from wp_options where x'];
        yield ['DELETE FROM a USING wp_posts AS a', '', 'delete from a using wp_posts as'];
        yield ['INSERT INTO wp_posts SELECT * FROM wp_old', 'INSERT', 'wp_posts'];
        yield ['WITH x AS (SELECT 1 FROM (SELECT 2) y) UPDATE wp_posts SET a = 1', '', 'with x as select from y update wp_posts set a'];
        yield ['WITH RECURSIVE x (a) AS (DELETE) SELECT * FROM wp_posts', null, null];
        yield ['TRUNCATE TABLE wp_posts', '', 'truncate table wp_posts'];
        yield ['TRUNCATE wp_posts', '', 'truncate wp_posts'];
        yield ['DROP TABLE IF EXISTS `wp_options`', '', 'drop table if exists wp_options'];
        yield ['ALTER TABLE wp_posts ADD a INT', '', 'alter table wp_posts add a int'];
        yield ['RENAME TABLE a TO wp_posts', '', 'rename table a to wp_posts'];
        yield ['LOAD DATA LOCAL INFILE \'f\' INTO TABLE wp_posts', '', 'load data local infile f into table wp_posts'];
        yield ['SET STATEMENT max_statement_time=1 FOR UPDATE wp_posts SET a = 1', 'UPDATE', 'wp_posts'];
        yield ['ANALYZE FORMAT=JSON UPDATE wp_posts SET a = 1', '', 'analyze format json update wp_posts set a'];
        yield ['ANALYZE TABLE wp_posts', null, null];
        yield ['ANALYZE UPDATE wp_posts SET a = 1', '', 'analyze update wp_posts set a'];
        yield ['ANALYZE SELECT a FROM wp_posts', null, null];
        yield ['IF 1 THEN UPDATE wp_posts SET a = 1; END IF', '', 'if then update wp_posts set a end'];
        yield ['FOR i IN 1 .. 2 DO UPDATE wp_posts SET a = 1; END FOR', '', 'for i in do update wp_posts set a end'];
        yield ['REPEAT UPDATE wp_posts SET a = 1; UNTIL 1 END REPEAT', '', 'repeat update wp_posts set a until end'];
        yield ['EXECUTE IMMEDIATE \'UPDATE wp_posts SET a = 1\'', 'UPDATE', 'wp_posts'];
        yield ['EXECUTE IMMEDIATE CONCAT(\'DELETE FROM \', \'wp_posts\')', '', 'execute immediate concat delete from  wp_posts'];
        yield ['UPDATE "wp_posts" SET "a" = 1 WHERE "ID" = 5', '', 'update wp_posts set a where id'];
        yield ['INSERT INTO "wp_posts" (a) VALUES (1)', '', 'insert into wp_posts a values'];
        yield ['DELETE FROM "wp_posts" WHERE ID = 5', '', 'delete from wp_posts where id'];
        yield ['CALL x(\'wp_posts\')', '', 'call x wp_posts'];
        yield ['LOCK TABLES wp_posts WRITE', null, null];
        yield ['BEGIN NOT ATOMIC UPDATE wp_posts SET a = 1; END', '', 'begin not atomic update wp_posts set a end'];
        yield ['SELECT a FROM wp_options', null, null];
        yield ['SHOW FULL COLUMNS FROM `wp_posts`', null, null];
        yield ['/* UPDATE wp_posts SET a = 1', null, null];
        yield ['', null, null];
    }

    public function testFindsWhatAnInsertGives(): void
    {
        $statement = self::parse('INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES (\'it\\\'s\', \'a, ) \\\\\', \'off\'), (\'b\', \'c\', \'on\') '
            . 'ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`)');
        self::assertSame(['it\'s', 'a, ) \\', 'off', null], \array_map($statement->value(...), ['option_name', 'option_value', 'autoload', 'x']));
        self::assertSame('', $statement->where());

        $statement = self::parse('INSERT INTO wp_term_relationships (object_id, term_taxonomy_id, term_order) VALUES (5, 7, 1),(6, 8, NOW()) ON DUPLICATE KEY UPDATE x = 1');
        self::assertSame(['5', '7', '1'], \array_map($statement->value(...), ['object_id', 'term_taxonomy_id', 'term_order']));
        self::assertSame([['5', '6'], ['7', '8'], null, []], \array_map($statement->values(...), ['Object_ID', 'term_taxonomy_id', 'term_order', 'x']));

        $statement = self::parse('INSERT INTO `wp_x` (`a`, `b`, c) VALUES (NULL, -1, 2 + (3))');
        self::assertSame(['NULL', '-1', null], \array_map($statement->value(...), ['a', 'b', 'c']));

        $statement = self::parse('REPLACE wp_x SET a = 1, wp_x.b = "it""s", c = d, e = LAST_INSERT_ID()');
        self::assertSame([['1'], ['it"s'], null, null, []], \array_map($statement->values(...), ['a', 'b', 'c', 'e', 'f']));
    }

    #[TestWith(['INSERT INTO wp_x VALUES (1, 2)'])]
    #[TestWith(['INSERT INTO wp_x (a) SELECT 1'])]
    #[TestWith(['INSERT INTO wp_x (a) VALUES ROW(1)'])]
    #[TestWith(['INSERT INTO wp_x (a, b) VALUES (1, 2), (3)'])]
    #[TestWith(['INSERT INTO wp_x (a) TABLE y'])]
    #[TestWith(['UPDATE wp_x SET (a) = 1'])]
    public function testSaysThatItDoesNotKnow(string $sql): void
    {
        self::assertNull(self::parse($sql)->values('a'));
    }

    public function testCountsNoMoreRowsThanHaveIntents(): void
    {
        foreach ([Statement::MOST => true, Statement::MOST + 1 => false] as $rows => $known) {
            $list = \range(1, $rows);
            self::assertSame($known, self::parse('INSERT INTO wp_x (a) VALUES (' . \implode('),(', $list) . ')')->values('a') !== null);
            self::assertSame($known, self::parse('DELETE FROM wp_x WHERE a IN (' . \implode(',', $list) . ')')->numbers('a') !== null);
        }
    }

    public function testFindsWhatAnUpdateSets(): void
    {
        $statement = self::parse('UPDATE `wp_posts` SET `post_content` = \', `post_status` = \\\'publish\\\' WHERE `ID` = 6\', `post_status` = \'draft\', `post_parent` = 3, '
            . '`to_ping` = TRIM(REPLACE(to_ping, \'a = 1\', \'\')), `n` = n + 1, `z` = NULL WHERE `ID` = 5 AND `post_type` = \'page\'');
        self::assertSame(
            ['draft', '3', null, null, null, 'NULL', ', `post_status` = \'publish\' WHERE `ID` = 6'],
            \array_map($statement->value(...), ['post_status', 'post_parent', 'post_type', 'to_ping', 'n', 'z', 'post_content']),
        );
        self::assertSame('`ID` = 5 AND `post_type` = \'page\'', $statement->where());
        self::assertSame([[], null, ['draft']], \array_map($statement->values(...), ['post_type', 'n', 'POST_STATUS']));
        $statement = self::parse('UPDATE wp_posts SET post_content = REPLACE(post_content, \'a\', \'b\')');
        self::assertSame(['', null, null], [$statement->where(), $statement->numbers('ID'), $statement->values('post_content')]);
    }

    /**
     * @param ?list<string> $ids
     */
    #[DataProvider('conditions')]
    public function testFindsTheNumbersOfACondition(string $where, ?array $ids, bool $isBy): void
    {
        $statement = self::parse("UPDATE wp_posts SET a = 'WHERE `ID` = 99' WHERE $where");
        self::assertSame($ids, $statement->numbers('ID'));
        self::assertSame($isBy, $statement->isBy('ID', 'post_parent'));
    }

    /** @return iterable<array{string, ?list<string>, bool}> */
    public static function conditions(): iterable
    {
        yield ['`ID` = 5', ['5'], true];
        yield ['id = \'005\';', ['5'], true];
        yield ['ID = 5 AND x = \'WHERE y\'', ['5'], true];
        yield ['x = \'OR\' AND ID=5 ORDER BY x LIMIT 1', ['5'], false];
        yield ['wp_posts.ID = 5', ['5'], false];
        yield ['(x = 1 AND (ID = 5)) AND y = 2', ['5'], false];
        yield ['(x = 1 OR y = 2) AND ID = 5', ['5'], true];
        yield ['post_type = \'attachment\' AND ID IN ( 5,6 )', ['5', '6'], false];
        yield ['ID IN(\'5\', \'6\') AND `post_type` IN (1)', ['5', '6'], true];
        yield ['ID IN (SELECT 5)', null, true];
        yield ['ID IN (5, (6))', null, true];
        yield ['ID IN (5) + 1', null, true];
        yield ['ID = 5 OR ID = 6', null, false];
        yield ['(ID = 5) OR (ID = 6)', null, false];
        yield ['ID = 5 XOR 1', null, false];
        yield ['ID = 5 || 1', null, false];
        yield ['NOT ID = 5', null, false];
        yield ['NOT (ID = 5 AND x = 1)', null, false];
        yield ['x = 1 AND NOT (ID = 5)', null, false];
        yield ['x BETWEEN 1 AND ID = 5', null, false];
        yield ['x = CASE WHEN 1 AND ID = 5 AND 2 THEN 3 END', null, false];
        yield ['`post_parent` = 5', null, true];
        yield ['ID = 5.5', null, true];
        yield ['ID = 5e1', null, true];
        yield ['ID = \'5a\'', null, true];
        yield ['ID = -5', null, true];
        yield ['ID = 5 = 0', null, true];
        yield ['ID = x', null, true];
        yield ['ID > 5', null, true];
        yield ['xID = 5', null, false];
        yield ['ID2 = 5', null, false];
        yield ['x = \'ID = 5\'', null, false];
        yield ['/* ID = 5 */ x = 1 -- AND ID = 5', null, false];
    }

    public function testFindsTheStringsOfACondition(): void
    {
        $statement = self::parse('UPDATE `wp_sitemeta` SET `meta_value` = \'b\' WHERE `site_id` = 1 AND `meta_key` = \'a WHERE \\\'x\'');
        self::assertSame([null, ['a WHERE \'x'], null], \array_map($statement->texts(...), ['site_id', 'meta_key', 'meta_value']));
        self::assertSame([['1'], null, null], \array_map($statement->numbers(...), ['site_id', 'meta_key', 'meta_value']));

        $statement = self::parse('UPDATE wp_options SET autoload = \'on\' WHERE option_name IN (\'a\',\'b\\\\\')');
        self::assertSame(['a', 'b\\'], $statement->texts('option_name'));
        self::assertSame('on', $statement->value('autoload'));
        self::assertNull(self::parse('DELETE FROM wp_options WHERE option_name LIKE \'a\'')->texts('option_name'));
    }

    /** Regular expressions have limits, posts have not. */
    public function testReadsALongStatement(): void
    {
        $text = \str_repeat('it\\\'s ), (WHERE `ID` = 9 ', 500_000);
        $statement = self::parse("UPDATE `wp_posts` SET `post_content` = '$text', `post_status` = 'publish' WHERE `ID` = 5");
        self::assertSame(['5'], $statement->numbers('ID'));
        self::assertSame('publish', $statement->value('post_status'));
        $statement = self::parse("INSERT INTO `wp_posts` (`post_content`, `post_status`) VALUES ('$text', 'publish')");
        self::assertSame('publish', $statement->value('post_status'));
    }

    private static function parse(string $sql): Statement
    {
        $statement = Statement::parse($sql);
        self::assertNotNull($statement);

        return $statement;
    }
}
