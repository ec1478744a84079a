<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\ServiceFailure;

/**
 * Times what WordPress does inside its object cache, in the same way for every drop-in.
 *
 * A file with functions wp_cache_* (of WordPress, a drop-in, a plugin) gets a second version, in which a watch runs from
 * the first statement of each such function to its last, and in wp_start_object_cache(), which loads the drop-in and
 * calls wp_cache_init(). A request with the header below runs the second version and tells its figures in a comment at
 * the end of the page; all others run the first, unchanged.
 *
 * Not in the figure: the call of the function itself, what a drop-in does in hooks and shutdown functions of its own, and
 * calls of $wp_object_cache past the functions. What the watch itself costs inside is measured in the same request, by a
 * function that does nothing, and taken off.
 */
final class Stopwatch
{
    /** Of a request that is to be timed, and its value. */
    public const HEADER = ['X-Larder-Lab' => '1'];

    private const TIMED = '/^(wp_cache_[a-z_]+|wp_start_object_cache)$/';

    /** Puts it into all files of a site that have such functions. */
    public static function mount(Site $site): void
    {
        \copy(__DIR__ . '/Shop/stopwatch.php', "$site->root/wp-includes/larder-lab-stopwatch.php");
        foreach (['load.php', 'cache.php', 'cache-compat.php'] as $file) {
            self::double("$site->root/wp-includes/$file");
        }
        $files = [$site->content('object-cache.php')];
        foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($site->content('plugins'), \FilesystemIterator::SKIP_DOTS)) as $file) {
            \assert($file instanceof \SplFileInfo);
            $files[] = $file->getPathname();
        }
        foreach ($files as $file) {
            // A drop-in's file in a plugin's folder is a template: what is loaded is its copy.
            if (\str_ends_with($file, '.php') && (\basename($file) !== 'object-cache.php' || $file === $files[0])) {
                self::double($file);
            }
        }
        $site->account->receive($site->content());
    }

    /** The source with the watch in it; null where there is nothing to time. */
    public static function timed(string $source): ?string
    {
        if (\preg_match('/function\s+&?\s*wp_(cache|start)_/', $source) !== 1) {
            return null;
        }
        $tokens = \PhpToken::tokenize($source);
        $count = \count($tokens);
        $found = false;
        for ($i = 0; $i < $count; ++$i) {
            if (!$tokens[$i]->is(\T_FUNCTION)) {
                continue;
            }
            for ($name = $i + 1; $name < $count && ($tokens[$name]->isIgnorable() || $tokens[$name]->text === '&'); ++$name);
            if ($name === $count || !$tokens[$name]->is(\T_STRING) || \preg_match(self::TIMED, $tokens[$name]->text) !== 1) {
                continue;
            }
            $first = null;
            for ($open = $name; $open < $count && !\in_array($tokens[$open]->text, ['{', ';'], true); ++$open) {
                $first ??= $tokens[$open]->is(\T_VARIABLE) ? $tokens[$open]->text : null;
            }
            $close = self::end($tokens, $open);
            if ($close === null) {
                continue;
            }
            $keys = $first !== null && \str_ends_with($tokens[$name]->text, '_multiple') ? "\\is_countable($first) ? \\count($first) : 1" : '1';
            $tokens[$open]->text = "{ \$larder_lab = \\Larder_Lab_Stopwatch::in('{$tokens[$name]->text}', $keys); try {";
            $tokens[$close]->text = '} finally { \Larder_Lab_Stopwatch::out($larder_lab); } }';
            $found = true;
            $i = $close;
        }

        return $found ? \implode('', \array_map(static fn(\PhpToken $token): string => $token->text, $tokens)) : null;
    }

    /** The figures of a page that was asked for with the header. */
    public static function read(Response $page): Timing
    {
        if (\preg_match('/<!--larder-lab (\{.*\})-->/', $page->body, $found) !== 1) {
            throw new ServiceFailure("A page with status $page->status does not report the time of its object cache: " . \substr(\trim(\strip_tags($page->body)), -300));
        }
        /** @var array{nanoseconds: float, calls: int, reads: int, queries: int, below: ?int, near: bool} $figures of Shop/stopwatch.php */
        $figures = \json_decode($found[1], true, 8, \JSON_THROW_ON_ERROR);

        return new Timing(\max(0.0, $figures['nanoseconds'] / 1e3), $figures['calls'], $figures['reads'], $figures['queries'], $figures['below'], $figures['near']);
    }

    private static function double(string $file): void
    {
        $source = \is_file($file) ? (string) \file_get_contents($file) : '';
        $timed = self::timed($source);
        if ($timed === null) {
            return;
        }
        $plain = \substr($file, 0, -4) . '.larder-lab-plain.php';
        $watch = \substr($file, 0, -4) . '.larder-lab-timed.php';
        // The file may be a hard link to WordPress's own: it is replaced, not written to.
        \rename($file, $plain);
        \file_put_contents($watch, $timed);
        \file_put_contents($file, \sprintf(
            "<?php\n\nif (isset(\$_SERVER['HTTP_X_LARDER_LAB'])) {\n    %s    return require __DIR__ . '/%s';\n}\n\nreturn require __DIR__ . '/%s';\n",
            \str_ends_with($file, '/wp-includes/load.php') ? "require_once __DIR__ . '/larder-lab-stopwatch.php';\n" : '',
            \basename($watch),
            \basename($plain),
        ));
    }

    /**
     * @param array<\PhpToken> $tokens
     *
     * @return ?int where the brace is that closes this one; null if it is none
     */
    private static function end(array $tokens, int $open): ?int
    {
        $depth = 0;
        for ($i = $open; isset($tokens[$i]); ++$i) {
            if ($tokens[$i]->text === '{' || $tokens[$i]->is([\T_CURLY_OPEN, \T_DOLLAR_OPEN_CURLY_BRACES])) {
                ++$depth;
            } elseif ($tokens[$i]->text === '}' && --$depth === 0) {
                return $i;
            } elseif ($depth === 0) {
                return null;
            }
        }

        return null;
    }
}
