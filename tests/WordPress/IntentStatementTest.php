<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\WordPress\Intent\Statement;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What is read out of the statements that WordPress makes. */
final class IntentStatementTest extends TestCase
{
    public static function setUpBeforeClass(): void
    {
        require_once __DIR__ . '/../../wordpress/autoload.php';
    }

    #[DataProvider('tables')]
    public function testFindsTheTable(string $sql, ?string $verb, ?string $table): void
    {
        $statement = Statement::parse($sql);
        self::assertSame([$verb, $table], [$statement?->verb, $statement?->table]);
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
        yield ['DELETE a, b FROM wp_options a, wp_options b WHERE a.option_name = b.option_name', 'DELETE', 'a'];
        yield ['SELECT autoload FROM wp_options WHERE option_name = \'x\' LIMIT 1', 'SELECT', 'wp_options'];
        yield ['SELECT a, b FROM wp_options', null, null];
        yield ['DROP TABLE wp_options', null, null];
        yield ['', null, null];
    }

    public function testFindsWhatAnInsertGives(): void
    {
        $statement = self::parse('INSERT INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES (\'it\\\'s\', \'a, ) \\\\\', \'off\'), (\'b\', \'c\', \'on\') '
            . 'ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`)');
        self::assertSame(['it\'s', 'a, ) \\', 'off', null], \array_map($statement->value(...), ['option_name', 'option_value', 'autoload', 'x']));
        self::assertSame('', $statement->where());

        $statement = self::parse('INSERT INTO wp_term_relationships (object_id, term_taxonomy_id, term_order) VALUES (5, 7, 1),(5, 8, 2) ON DUPLICATE KEY UPDATE x = 1');
        self::assertSame(['5', '7', '1'], \array_map($statement->value(...), ['object_id', 'term_taxonomy_id', 'term_order']));

        $statement = self::parse('INSERT INTO `wp_x` (`a`, `b`) VALUES (NULL, -1)');
        self::assertSame(['NULL', '-1'], \array_map($statement->value(...), ['a', 'b']));
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
    }

    /**
     * @param list<string> $ids
     */
    #[DataProvider('conditions')]
    public function testFindsTheNumbersOfACondition(string $where, array $ids, bool $isBy): void
    {
        $statement = self::parse("UPDATE wp_posts SET a = 'WHERE `ID` = 99' WHERE $where");
        self::assertSame($ids, $statement->numbers('ID'));
        self::assertSame($isBy, $statement->isBy('ID', 'post_parent'));
    }

    /** @return iterable<array{string, list<string>, bool}> */
    public static function conditions(): iterable
    {
        yield ['`ID` = 5', ['5'], true];
        yield ['ID = \'5\'', ['5'], true];
        yield ['ID = 5 AND x = \'WHERE y\'', ['5'], true];
        yield ['post_type = \'attachment\' AND ID IN ( 5,6 )', ['5', '6'], false];
        yield ['ID IN(\'5\', \'6\')', ['5', '6'], true];
        yield ['ID IN (SELECT 5)', [], true];
        yield ['`post_parent` = 5', [], true];
        yield ['ID = 5.5', [], true];
        yield ['ID > 5', [], true];
        yield ['xID = 5', [], false];
        yield ['ID2 = 5', [], false];
        yield ['x = \'ID = 5\'', [], false];
    }

    public function testFindsTheStringsOfACondition(): void
    {
        $statement = self::parse('UPDATE `wp_sitemeta` SET `meta_value` = \'b\' WHERE `site_id` = 1 AND `meta_key` = \'a WHERE \\\'x\'');
        self::assertSame(['1', 'a WHERE \'x', null], \array_map($statement->equal(...), ['site_id', 'meta_key', 'meta_value']));

        $statement = self::parse('UPDATE wp_options SET autoload = \'on\' WHERE option_name IN (\'a\',\'b\\\\\')');
        self::assertSame(['a', 'b\\'], $statement->strings());
        self::assertSame('on', $statement->value('autoload'));
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
