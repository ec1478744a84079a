<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * The values of the scenario `segment`: those of the published comparisons, and two more kinds that it is of importance
 * to: numbers, which need no memory of their own in an array, and objects, which no memory can share.
 */
final class MemoryPayloads
{
    private const INTEGERS = 1_000;
    private const POSTS = 10;

    /** @return list<string> */
    public static function names(): array
    {
        return ['short', '20kB', 'integers', '50x50', 'objects'];
    }

    /** @throws \InvalidArgumentException for a name that is not one of names() */
    public static function get(string $name): mixed
    {
        return match ($name) {
            'integers' => self::integers(),
            'objects' => self::objects(),
            'short', '20kB', '50x50' => Payloads::get($name),
            default => throw new \InvalidArgumentException(\sprintf('There is no payload "%s"; there are %s.', $name, \implode(', ', self::names()))),
        };
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
