<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Payload;

use Larder\Lab\Payload\WordPressCorpus;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class WordPressCorpusTest extends TestCase
{
    /**
     * Written down, so that figures of two versions of the lab are of the same bytes.
     *
     * @return array<string, array{string, int, string, float, float}> name, bytes serialized, their hash, and how many times smaller gzdeflate makes them: at least, at most
     */
    public static function values(): array
    {
        return [
            'alloptions' => ['alloptions', 106_274, 'd102aac26cae8657b54dfebfbadb00fe', 2.8, 3.8],
            'post' => ['post', 7_328, '62d9e5e0c66e5e8d27bbc2821d021db2', 2.2, 3.0],
            'meta' => ['meta', 3_058, 'd06c5c62e3446e15598278892aa6c3bb', 2.2, 3.2],
            'terms' => ['terms', 11_328, '3061b9a58a54913e18881640cbf303d4', 4.5, 7.0],
            'feed' => ['feed', 198_243, '653bfe670270551e326102272127f981', 3.0, 5.0],
        ];
    }

    #[DataProvider('values')]
    public function testAValueIsTheSameEverywhere(string $name, int $bytes, string $hash): void
    {
        $serialized = \serialize(WordPressCorpus::get($name));

        self::assertSame([$bytes, $hash], [\strlen($serialized), \hash('xxh128', $serialized)]);
        self::assertSame($serialized, \serialize(WordPressCorpus::get($name)));
    }

    /** Real text makes 2.5 to 3 of it, markup and the keys of arrays more. */
    #[DataProvider('values')]
    public function testAValueIsAsCompressibleAsARealOne(string $name, int $bytes, string $hash, float $least, float $most): void
    {
        $ratio = $bytes / \strlen((string) \gzdeflate(\serialize(WordPressCorpus::get($name))));

        self::assertGreaterThan($least, $ratio);
        self::assertLessThan($most, $ratio);
    }

    public function testTheyAreNamed(): void
    {
        self::assertSame(\array_keys(self::values()), WordPressCorpus::names());

        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage('There is no value "options" in the corpus: use alloptions, post, meta, terms, feed.');
        WordPressCorpus::get('options');
    }

    public function testAnotherProcessWithNoExtensionsAndNoSettingsHasTheSame(): void
    {
        $script = 'require ' . \var_export(\dirname(__DIR__, 3) . '/vendor/autoload.php', true) . ';'
            . 'foreach (array_reverse(' . WordPressCorpus::class . '::names()) as $name) { echo hash("xxh128", serialize(' . WordPressCorpus::class . '::get($name))), "\n"; }';
        \exec(\escapeshellarg(\PHP_BINARY) . ' -n -r ' . \escapeshellarg($script), $lines, $status);

        self::assertSame(0, $status);
        self::assertSame(\array_reverse(\array_column(\array_values(self::values()), 2)), $lines);
    }

    public function testTheOptionsAreStrings(): void
    {
        $options = self::strings(WordPressCorpus::get('alloptions'));

        self::assertCount(400, $options);
        foreach (['siteurl', 'blogname', 'rewrite_rules', 'cron', 'active_plugins', 'wp_user_roles', 'sidebars_widgets', 'widget_block', 'widget_text', '_transient_is_multi_author'] as $name) {
            self::assertArrayHasKey($name, $options);
        }
        // Most are short, as in any site's.
        self::assertGreaterThan(280, \count(\array_filter($options, static fn(string $option): bool => \strlen($option) < 60)));
        // A transient with an end is not autoloaded, and neither is its end.
        self::assertSame([], \preg_grep('/_transient_timeout_/', \array_keys($options)));
    }

    public function testWhatWasAnArrayIsSerializedInItsString(): void
    {
        $options = self::strings(WordPressCorpus::get('alloptions'));
        $arrays = \array_filter($options, static fn(string $option): bool => \str_starts_with($option, 'a:'));

        self::assertGreaterThan(50, \count($arrays));
        foreach ($arrays as $name => $option) {
            self::assertSame($option, \serialize(self::decoded($option)), $name);
        }
    }

    public function testTheRewriteRulesAreRules(): void
    {
        $rules = self::decoded(self::strings(WordPressCorpus::get('alloptions'))['rewrite_rules']);

        self::assertGreaterThan(120, \count($rules));
        foreach ($rules as $pattern => $query) {
            self::assertNotFalse(\preg_match("#^$pattern#", 'a/b/'), (string) $pattern);
            self::assertIsString($query);
            self::assertStringStartsWith('index.php?', $query);
            \preg_match_all('/\$matches\[(\d)\]/', $query, $used);
            self::assertLessThanOrEqual(\substr_count((string) $pattern, '('), \max([0, ...\array_map(\intval(...), $used[1])]), "$pattern => $query");
        }
    }

    public function testTheCronIsOrderedByTime(): void
    {
        $cron = self::decoded(self::strings(WordPressCorpus::get('alloptions'))['cron']);
        self::assertSame(2, $cron['version']);
        unset($cron['version']);
        $times = \array_keys($cron);
        $sorted = $times;
        \sort($sorted);

        self::assertGreaterThan(20, \count($cron));
        self::assertSame($sorted, $times);
        foreach ($cron as $hooks) {
            self::assertIsArray($hooks);
            foreach ($hooks as $events) {
                self::assertIsArray($events);
                // The key is the md5 of the serialized arguments, of which there are none.
                self::assertSame([\md5('a:0:{}')], \array_keys($events));
            }
        }
    }

    public function testThePostIsARowOfItsTable(): void
    {
        $post = WordPressCorpus::get('post');
        self::assertInstanceOf(\stdClass::class, $post);
        $columns = (array) $post;

        self::assertSame([
            'ID', 'post_author', 'post_date', 'post_date_gmt', 'post_content', 'post_title', 'post_excerpt', 'post_status',
            'comment_status', 'ping_status', 'post_password', 'post_name', 'to_ping', 'pinged', 'post_modified',
            'post_modified_gmt', 'post_content_filtered', 'post_parent', 'guid', 'menu_order', 'post_type', 'post_mime_type',
            'comment_count', 'filter',
        ], \array_keys($columns));
        self::assertSame(['ID', 'post_parent', 'menu_order'], \array_keys(\array_filter($columns, \is_int(...))));
        self::assertCount(21, \array_filter($columns, \is_string(...)));
        self::assertNotSame($post, WordPressCorpus::get('post'));
    }

    public function testThePostsBlocksAreClosed(): void
    {
        $post = WordPressCorpus::get('post');
        self::assertInstanceOf(\stdClass::class, $post);
        $content = $post->post_content;
        self::assertIsString($content);

        self::assertGreaterThan(4_000, \strlen($content));
        \preg_match_all('~<!-- (/?)wp:([a-z-]+) (?:(\{.*?\}) )?-->~', $content, $marks, \PREG_SET_ORDER);
        self::assertSame(\substr_count($content, '<!--'), \count($marks));
        $open = [];
        foreach ($marks as $mark) {
            if ($mark[1] === '/') {
                self::assertSame($mark[2], \array_pop($open));
                continue;
            }
            $open[] = $mark[2];
            self::assertTrue(($mark[3] ?? '') === '' || \is_array(\json_decode($mark[3], true)));
        }
        self::assertSame([], $open);
    }

    public function testTheMetaAreListsOfStrings(): void
    {
        $meta = WordPressCorpus::get('meta');
        self::assertIsArray($meta);
        self::assertCount(25, $meta);
        $serialized = $several = 0;
        foreach ($meta as $values) {
            self::assertIsArray($values);
            self::assertTrue(\array_is_list($values));
            self::assertNotSame([], $values);
            self::assertSame($values, \array_filter($values, \is_string(...)));
            $serialized += (int) \str_starts_with(self::strings($values)[0], 'a:');
            $several += (int) (\count($values) > 1);
        }

        self::assertSame([3, 2], [$serialized, $several]);
    }

    public function testTheTermsAreRowsOfStrings(): void
    {
        $terms = WordPressCorpus::get('terms');
        self::assertIsArray($terms);
        self::assertTrue(\array_is_list($terms));
        $parents = [];
        foreach ($terms as $term) {
            self::assertInstanceOf(\stdClass::class, $term);
            $row = self::strings((array) $term);
            self::assertSame(['term_id', 'name', 'slug', 'term_group', 'term_taxonomy_id', 'taxonomy', 'description', 'parent', 'count'], \array_keys($row));
            $parents[$row['term_id']] = $row['parent'];
        }

        self::assertCount(40, $parents);
        self::assertSame([], \array_diff($parents, ['0', ...\array_map(\strval(...), \array_keys($parents))]));
        self::assertGreaterThan(1, \count(\array_unique($parents)));
    }

    public function testTheFeedIsWhatSimplePieParses(): void
    {
        $feed = WordPressCorpus::get('feed');
        self::assertIsArray($feed);
        self::assertSame(['child', 'type', 'headers', 'build'], \array_keys($feed));
        self::assertSame(128, $feed['type']);
        $names = [];
        self::assertIsArray($feed['child']);
        $this->walk($feed['child'], $names);

        self::assertSame(30, $names['item']);
        self::assertSame([1, 31, 30, 30, 30, 30], [$names['rss'], $names['title'], $names['encoded'], $names['creator'], $names['guid'], $names['post-id']]);
        self::assertGreaterThan(60, $names['category']);
    }

    /** Two items share little but their markup: what is said of them is not said again. */
    public function testTheFeedsTextsAreDifferent(): void
    {
        $serialized = \serialize(WordPressCorpus::get('feed'));
        \preg_match_all('~<p>(.*?)</p>~s', $serialized, $paragraphs);
        \preg_match_all('/[A-Za-z ,]{20,}[.?!]/', \implode("\n", $paragraphs[1]), $sentences);

        self::assertGreaterThan(150, \count($paragraphs[1]));
        self::assertGreaterThan(500, \count($sentences[0]));
        self::assertSame($sentences[0], \array_unique($sentences[0]));
    }

    /**
     * @param array<mixed>       $children by name space, then by name, then a list of elements
     * @param array<string, int> $names    counted
     */
    private function walk(array $children, array &$names): void
    {
        foreach ($children as $elements) {
            self::assertIsArray($elements);
            foreach ($elements as $name => $list) {
                self::assertIsArray($list);
                self::assertTrue(\array_is_list($list));
                foreach ($list as $element) {
                    self::assertIsArray($element);
                    self::assertSame(['data', 'attribs', 'xml_base', 'xml_base_explicit', 'xml_lang'], \array_slice(\array_keys($element), 0, 5));
                    self::assertIsString($element['data']);
                    $names[$name] = ($names[$name] ?? 0) + 1;
                    if (isset($element['child'])) {
                        self::assertIsArray($element['child']);
                        $this->walk($element['child'], $names);
                    }
                }
            }
        }
    }

    /** @return array<string> each of them looked at */
    private static function strings(mixed $values): array
    {
        self::assertIsArray($values);
        $strings = [];
        foreach ($values as $key => $value) {
            self::assertIsString($value, (string) $key);
            $strings[$key] = $value;
        }

        return $strings;
    }

    /** @return array<mixed> */
    private static function decoded(string $serialized): array
    {
        $value = \unserialize($serialized, ['allowed_classes' => false]);
        self::assertIsArray($value);

        return $value;
    }
}
