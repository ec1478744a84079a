<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * The three values of the published comparisons: a short string, 20 kB of real text, an array of 50 rows of 50 strings.
 * And those that matter to values in memory: numbers, which need no memory of their own in an array, and objects, which
 * no memory can share.
 *
 * This folder holds what is written and read. The same bytes on every machine and in every run: nothing is drawn from
 * PHP's random numbers, and no float is rounded.
 */
final class Payloads
{
    public const PUBLISHED = ['short', '20kB', '50x50'];
    public const MEMORY = ['short', '20kB', 'integers', '50x50', 'objects'];

    private const ROWS = 50;
    private const COLUMNS = 50;
    private const INTEGERS = 1_000;
    private const POSTS = 10;

    /** @throws \InvalidArgumentException for a name that is neither one of them nor a recorded object's */
    public static function get(string $name): mixed
    {
        return match ($name) {
            'short' => 'value 00000042',
            '20kB' => Recording::text(),
            '50x50' => self::table(),
            'integers' => self::integers(),
            'objects' => self::objects(),
            'integer' => 0,
            default => Recording::get($name),
        };
    }

    /**
     * No two strings are the same, so that no serializer gains by writing one twice.
     *
     * @return list<list<string>>
     */
    private static function table(): array
    {
        $rows = [];
        for ($row = 0; $row < self::ROWS; ++$row) {
            $cells = [];
            for ($column = 0; $column < self::COLUMNS; ++$column) {
                $cells[] = \sprintf('cell %d/%d', $row, $column);
            }
            $rows[] = $cells;
        }

        return $rows;
    }

    /** @return list<int> ids, as of posts: no two the same, and not one after the other */
    private static function integers(): array
    {
        $integers = [];
        for ($i = 0; $i < self::INTEGERS; ++$i) {
            $integers[] = 100_000 + $i * 7 + $i % 5;
        }

        return $integers;
    }

    /**
     * What a query finds: some facts, and rows as objects.
     *
     * @return array{found: int, order: list<string>, ids: list<int>, posts: list<\stdClass>}
     */
    private static function objects(): array
    {
        $posts = [];
        for ($i = 1; $i <= self::POSTS; ++$i) {
            $post = new \stdClass();
            $post->ID = $i;
            $post->post_title = "The title of post $i";
            $post->post_name = "the-title-of-post-$i";
            $post->post_content = \str_repeat("Paragraph $i of a post. ", 20);
            $post->post_status = 'publish';
            $post->comment_count = (string) ($i * 3);
            $post->meta = ['_edit_last' => '1', '_thumbnail_id' => (string) (900 + $i)];
            $posts[] = $post;
        }

        return ['found' => 1_350, 'order' => ['post_date', 'DESC'], 'ids' => \range(1, self::POSTS), 'posts' => $posts];
    }
}
