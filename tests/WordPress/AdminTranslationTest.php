<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

/** WordPress reads a translation of the texts that the translators get, in each place and form that it may have. */
#[Group('wordpress')]
final class AdminTranslationTest extends SharedSiteTestCase
{
    /** Translates each text of larder.pot into itself between angles, and writes that as the file that is named. */
    private const TRANSLATE = <<<'PHP'
        require_once ABSPATH . WPINC . '/pomo/po.php';
        $texts = new PO();
        $texts->import_from_file(WP_PLUGIN_DIR . '/larder/languages/larder.pot');
        $written = new MO();
        $written->set_header('Plural-Forms', 'nplurals=2; plural=n != 1;');
        foreach ($texts->entries as $entry) {
            $entry->translations = array_map(static fn(string $text): string => "‹{$text}›", array_filter([$entry->singular, $entry->plural]));
            $written->add_entry($entry);
        }
        is_dir(dirname($file)) || mkdir(dirname($file), recursive: true);
        if (str_ends_with($file, '.php')) {
            $messages = [];
            foreach ($texts->entries as $entry) {
                $messages[$entry->singular] = implode("\0", $entry->translations);
            }
            file_put_contents($file, '<?php return ' . var_export(['domain' => 'larder', 'plural-forms' => 'nplurals=2; plural=n != 1;', 'language' => 'de_DE', 'messages' => $messages], true) . ';');
        } else {
            $written->export_to_file($file);
        }
        update_user_meta(1, 'locale', 'de_DE');
        // WordPress remembers which files of languages there are, as its own updates of them know.
        wp_cache_flush();
        return count($texts->entries);
        PHP;

    /** @return iterable<string, array{string}> */
    public static function files(): iterable
    {
        yield 'as the directory sends it' => ['languages/plugins/larder-de_DE.mo'];
        yield 'as PHP' => ['languages/plugins/larder-de_DE.l10n.php'];
        yield 'in the plugin' => ['plugins/larder/languages/larder-de_DE.mo'];
    }

    #[DataProvider('files')]
    public function testThePageSpeaksTheLanguageOfItsUser(string $name): void
    {
        $file = $this->site->site->content($name);
        $texts = $this->site->web('$file = ' . \var_export($file, true) . ';' . self::TRANSLATE);
        try {
            $page = $this->page('/wp-admin/tools.php?page=larder', $this->site->site->login());
        } finally {
            \unlink($file);
        }

        self::assertSame(\preg_match_all('/^msgid ".+"$/m', (string) \file_get_contents(BuiltPlugin::path('languages/larder.pot'))), $texts);
        self::assertSame(1, \preg_match('~<div class="wrap larder">(.*)<!-- wpbody-content -->~s', $page, $match));
        \preg_match_all('~<h2[^>]*>(.*?)</h2>|<summary>(.*?)</summary>|<th scope="col"[^>]*>([^<]+)</th>~', $match[1], $all, \PREG_SET_ORDER);
        $shown = \array_map(static fn(array $one): string => (string) \end($one), $all);
        self::assertGreaterThan(5, \count($shown));
        self::assertSame([], \array_values(\preg_grep('/^‹.+›$/u', $shown, \PREG_GREP_INVERT) ?: []));
    }
}
