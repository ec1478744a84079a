<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * What the object cache of a real site held: a shop of WordPress 7.1, visited by readers and by its administrator.
 *
 * Recorded by lab/record-wordpress.php, without secrets. Five of the objects have names:
 *
 *     alloptions  all autoloaded options, name => string
 *     post        a row of wp_posts, as an object
 *     meta        the custom fields of a post: key => list of strings
 *     terms       what a query of terms found: rows as objects
 *     feed        what SimplePie parsed of a feed of 30 items, a transient
 */
final class Recording
{
    public const FILE = __DIR__ . '/wordpress.gz';

    private const TEXT = 20_000;

    /** @var ?array{wordpress: string, named: array<string, string>, objects: array<string, mixed>} */
    private static ?array $recorded = null;

    /** What get() takes. */
    public const NAMES = ['alloptions', 'post', 'meta', 'terms', 'feed'];

    /** @throws \InvalidArgumentException for another name */
    public static function get(string $name): mixed
    {
        $recorded = self::recorded();
        $key = $recorded['named'][$name] ?? throw new \InvalidArgumentException("No recorded object is called \"$name\": use " . \implode(', ', self::NAMES) . '.');

        return $recorded['objects'][$key];
    }

    /** @return array<string, mixed> all objects, by group and key with a colon between */
    public static function objects(): array
    {
        return self::recorded()['objects'];
    }

    /** What people wrote in articles: 20,000 bytes, ASCII. */
    public static function text(): string
    {
        $text = '';
        foreach (self::objects() as $object) {
            if ($object instanceof \stdClass && ($object->post_type ?? '') === 'post' && \is_string($object->post_content) && \strlen($text) < self::TEXT) {
                $text .= \preg_replace('/[^ -~\n]/', '', $object->post_content) . "\n";
            }
        }

        return \substr($text, 0, self::TEXT);
    }

    /** @return array{wordpress: string, named: array<string, string>, objects: array<string, mixed>} */
    private static function recorded(): array
    {
        if (self::$recorded === null) {
            /** @var array{wordpress: string, named: array<string, string>, objects: array<string, mixed>} $recorded of Recorder */
            $recorded = \unserialize((string) \gzdecode((string) \file_get_contents(self::FILE)), ['allowed_classes' => [\stdClass::class]]);
            self::$recorded = $recorded;
        }

        return self::$recorded;
    }
}
