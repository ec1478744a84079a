<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Config\Version;
use PhpParser\Node;
use PhpParser\Node\Expr;
use PhpParser\Node\Scalar;
use PhpParser\Node\Stmt;
use PhpParser\NodeFinder;
use PhpParser\ParserFactory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * What WordPress's directory asks of a plugin, as far as the files alone show it. CONTRIBUTING.md says how its own tool,
 * Plugin Check, is run. Neither looks into vendor/, but for what a browser could ask for.
 */
#[Group('slow')]
final class DirectoryRulesTest extends TestCase
{
    private const GETTEXT = ['__' => 2, 'esc_html__' => 2, 'esc_attr__' => 2, '_e' => 2, 'esc_html_e' => 2, 'esc_attr_e' => 2, '_n' => 4, '_x' => 3, '_nx' => 5];

    /** WordPress has these texts itself, in its own domain. */
    private const ITS_OWN = ['Cache key must not be an empty string.', 'Cache key must be an integer or a non-empty string, %s given.'];

    private const ESCAPING = ['esc_html', 'esc_attr', 'esc_url', 'esc_html__', 'esc_attr__', 'wp_kses_post', 'checked', 'disabled'];

    private const FORBIDDEN = ['passthru', 'proc_open', 'exec', 'shell_exec', 'system', 'popen', 'create_function', 'str_rot13', 'move_uploaded_file', 'ini_set', 'set_time_limit', 'error_reporting', 'dl', 'base64_decode', 'load_plugin_textdomain', 'query_posts', 'extract', 'mt_rand', 'rand'];

    public function testTheReadmeIsComplete(): void
    {
        $readme = self::text('readme.txt');
        self::assertSame(1, \preg_match('/^=== (.+) ===\n((?:[A-Z][A-Za-z ]+: .+\n)+)\n([^\n]+)\n\n/', $readme, $match));
        [, $name, $lines, $description] = $match;
        \preg_match_all('/^(.+?): (.+)$/m', $lines, $fields);
        $header = \array_combine($fields[1], $fields[2]);

        self::assertSame(['Contributors', 'Tags', 'Requires at least', 'Tested up to', 'Requires PHP', 'Stable tag', 'License', 'License URI'], \array_keys($header));
        self::assertLessThanOrEqual(5, \count(\explode(',', $header['Tags'])));
        self::assertMatchesRegularExpression('/^\d+\.\d+$/', $header['Requires at least']);
        self::assertMatchesRegularExpression('/^\d+\.\d+$/', $header['Requires PHP']);
        self::assertMatchesRegularExpression('/^\d+\.\d+\.\d+$/', $header['Stable tag']);
        self::assertSame('GPL-2.0-or-later', $header['License']);
        self::assertLessThanOrEqual(150, \mb_strlen($description));
        self::assertDoesNotMatchRegularExpression('/[*`<[]/', $description, 'The directory shows it as it is.');
        \preg_match_all('/^== (.+) ==\n+(?!==)\S/m', $readme, $sections);
        self::assertSame(['Description', 'Installation', 'Frequently Asked Questions', 'Screenshots', 'Changelog', 'Upgrade Notice'], $sections[1]);
        self::assertLessThan(300, \strlen(\explode('== Upgrade Notice ==', $readme)[1]));

        $plugin = self::text('larder.php');
        foreach (['Plugin Name' => $name, 'Version' => Version::CURRENT, 'Requires at least' => $header['Requires at least'], 'Requires PHP' => $header['Requires PHP'], 'License' => $header['License'], 'License URI' => $header['License URI'], 'Text Domain' => 'larder', 'Domain Path' => '/languages'] as $label => $value) {
            self::assertStringContainsString("\n * $label: $value\n", $plugin);
        }
        self::assertSame(Version::CURRENT, $header['Stable tag']);
    }

    public function testTheReadmeNamesTheNewestWordPressOfTheTests(): void
    {
        self::assertSame(1, \preg_match('/^WORDPRESS := (.+)$/m', (string) \file_get_contents(\dirname(__DIR__, 2) . '/Makefile'), $match));
        $versions = \explode(' ', $match[1]);
        \usort($versions, \version_compare(...));
        self::assertStringContainsString("\nTested up to: " . \end($versions) . "\n", self::text('readme.txt'));
    }

    public function testComposerKnowsItAsAPlugin(): void
    {
        $package = \json_decode(self::text('composer.json'), true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($package);
        self::assertSame(['wordpress-plugin', 'GPL-2.0-or-later', ['php' => '>=8.2']], [$package['type'], $package['license'], $package['require']]);
    }

    #[DataProvider('own')]
    public function testNoFileRunsAnythingForABrowser(string $file): void
    {
        $statements = self::statements(self::parse($file));
        $runs = \array_filter($statements, static fn(Stmt $statement): bool => !$statement instanceof Stmt\ClassLike && !$statement instanceof Stmt\Use_);
        if ($runs === []) {
            $this->expectNotToPerformAssertions();

            return;
        }
        $first = \reset($runs);
        $first->setAttribute('comments', []);
        $constant = $file === 'uninstall.php' ? 'WP_UNINSTALL_PLUGIN' : 'ABSPATH';
        self::assertMatchesRegularExpression("/^\\\\?defined\('$constant'\) \|\| exit;$/", (new \PhpParser\PrettyPrinter\Standard())->prettyPrint([$first]));
    }

    public function testWhatRunsInTheLibraryDeclaresOnly(): void
    {
        $others = [];
        foreach (BuiltPlugin::files() as $file) {
            if (\str_starts_with($file, 'vendor/') && \str_ends_with($file, '.php')) {
                foreach (self::statements(self::parse($file)) as $statement) {
                    // Bundles ask whether a class is there; a file may need another one.
                    $isDeclaration = $statement instanceof Stmt\ClassLike || $statement instanceof Stmt\Use_ || $statement instanceof Stmt\If_
                        || $statement instanceof Stmt\Expression && ($statement->expr instanceof Expr\Include_ || $statement->expr instanceof Expr\BinaryOp || $statement->expr instanceof Expr\FuncCall && self::function($statement->expr) === 'class_exists');
                    $isDeclaration || $others[] = "$file:{$statement->getStartLine()}";
                }
            }
        }
        self::assertSame([], $others);
    }

    #[DataProvider('own')]
    public function testEachTextIsInTheDomain(string $file): void
    {
        $wrong = [];
        foreach (self::calls($file) as $call) {
            $place = self::GETTEXT[self::function($call)] ?? 0;
            if ($place === 0) {
                continue;
            }
            $words = \array_map(static fn(Node\Arg|Node\VariadicPlaceholder $argument): ?string => $argument instanceof Node\Arg && $argument->value instanceof Scalar\String_ ? $argument->value->value : null, $call->args);
            if ($words[0] === null || (($words[$place - 1] ?? '') !== 'larder' && !\in_array($words[0], self::ITS_OWN, true))) {
                $wrong[] = $call->getStartLine() . ': ' . $words[0];
            }
        }
        self::assertSame([], $wrong, 'A text is a literal string, and its last argument is \'larder\'.');
    }

    #[DataProvider('own')]
    public function testWhatIsPrintedIsEscapedThere(string $file): void
    {
        $wrong = [];
        foreach ((new NodeFinder())->findInstanceOf(self::parse($file), Stmt\Echo_::class) as $echo) {
            foreach ($echo->exprs as $printed) {
                self::isEscaped($printed) || $wrong[] = $printed->getStartLine();
            }
        }
        self::assertSame([], $wrong);
    }

    #[DataProvider('own')]
    public function testNothingForbiddenIsUsed(string $file): void
    {
        $tree = self::parse($file);
        $finder = new NodeFinder();
        foreach ([Expr\Eval_::class, Expr\ShellExec::class, Stmt\Goto_::class, Stmt\InlineHTML::class] as $kind) {
            self::assertSame([], $finder->findInstanceOf($tree, $kind), $kind);
        }
        self::assertSame([], \array_values(\array_intersect(\array_map(self::function(...), self::calls($file)), self::FORBIDDEN)));
        $text = self::text($file);
        self::assertStringStartsWith('<?php', $text);
        // It hides from the directory's tool what is printed by it.
        self::assertStringNotContainsString('<<<', $text);
    }

    #[DataProvider('own')]
    public function testEachExceptionNamesItsRuleAndItsReason(string $file): void
    {
        \preg_match_all('~^.*phpcs:.*$~m', self::text($file), $match);
        foreach ($match[0] as $line) {
            $form = \str_starts_with($file, 'classes/') ? '~^// phpcs:ignoreFile -- .{20,}$~' : '~^ *// phpcs:(ignore|disable) (?:[A-Z]\w+(?:\.\w+){2,3}(?:, )?)+ -- .{9,}$~';
            self::assertMatchesRegularExpression($form, $line);
        }
        $this->addToAssertionCount(1);
    }

    public function testTheFilesAreOfKindsAndNamesThatAreAllowed(): void
    {
        $files = BuiltPlugin::files();
        self::assertSame([], \array_values(\preg_grep('~^(?:(?:[\w-]+/)*(?:[\w-]+(?:\.all)?\.(?:php|css|js)|LICENSE)|readme\.txt|composer\.json|languages/larder\.pot)$~', $files, \PREG_GREP_INVERT) ?: []));
        $names = \array_map(\strtolower(...), $files);
        self::assertSame([], \array_diff_key($names, \array_unique($names)), 'On some machines two names are one.');
    }

    public function testNoFileIsOfAnotherLicence(): void
    {
        $licences = [];
        foreach (BuiltPlugin::files() as $file) {
            if (\basename($file) === 'LICENSE') {
                $licences[$file] = \preg_match('/\b(MIT|GNU GENERAL PUBLIC LICENSE)\b|Permission is hereby granted, free of charge/', self::text($file), $match) === 1 ? $match[1] ?? 'MIT' : '';
                continue;
            }
            self::assertDoesNotMatchRegularExpression('/@licen[cs]e|@copyright|\(c\) (?:19|20)\d\d|SPDX-/i', self::text($file), $file);
            \preg_match_all('/^[ *]*License: *(.+)$/m', self::text($file), $match);
            self::assertContains($match[1], [[], ['GPL-2.0-or-later']], $file);
        }
        self::assertSame(['LICENSE' => 'GNU GENERAL PUBLIC LICENSE', 'vendor/larder/larder/LICENSE' => 'MIT', 'vendor/psr/log/LICENSE' => 'MIT'], $licences);
        self::assertSame(['larder/larder', 'psr/log'], self::packages());
    }

    /** @return iterable<string, array{string}> the plugin's own PHP */
    public static function own(): iterable
    {
        foreach (BuiltPlugin::files() as $file) {
            if (\str_ends_with($file, '.php') && !\str_starts_with($file, 'vendor/')) {
                yield $file => [$file];
            }
        }
    }

    /** @return list<string> in vendor/ */
    private static function packages(): array
    {
        $packages = \preg_replace('~^vendor/([^/]+/[^/]+)/.*$~', '$1', \preg_grep('~^vendor/~', BuiltPlugin::files()) ?: []);

        return \array_values(\array_unique($packages));
    }

    private static function isEscaped(Expr $printed): bool
    {
        return match (true) {
            $printed instanceof Scalar\String_, $printed instanceof Expr\Cast\Int_ => true,
            $printed instanceof Expr\ConstFetch => $printed->name->toString() === 'PHP_EOL',
            $printed instanceof Expr\BinaryOp\Concat => self::isEscaped($printed->left) && self::isEscaped($printed->right),
            $printed instanceof Expr\Ternary => $printed->if !== null && self::isEscaped($printed->if) && self::isEscaped($printed->else),
            $printed instanceof Expr\FuncCall => \in_array(self::function($printed), self::ESCAPING, true),
            default => false,
        };
    }

    /**
     * What runs when a file does, in the order of the file; its namespaces' too.
     *
     * @param array<Stmt> $tree
     *
     * @return list<Stmt>
     */
    private static function statements(array $tree): array
    {
        $statements = [];
        foreach ($tree as $statement) {
            if ($statement instanceof Stmt\Namespace_) {
                \array_push($statements, ...self::statements($statement->stmts));
            } elseif (!$statement instanceof Stmt\Declare_ && !$statement instanceof Stmt\Nop) {
                $statements[] = $statement;
            }
        }

        return $statements;
    }

    /** @return list<Expr\FuncCall> */
    private static function calls(string $file): array
    {
        return (new NodeFinder())->findInstanceOf(self::parse($file), Expr\FuncCall::class);
    }

    private static function function(Expr\FuncCall $call): string
    {
        return $call->name instanceof Node\Name ? \ltrim($call->name->toString(), '\\') : '';
    }

    /** @return array<Stmt> */
    private static function parse(string $file): array
    {
        return (new ParserFactory())->createForHostVersion()->parse(self::text($file)) ?? [];
    }

    private static function text(string $file): string
    {
        return (string) \file_get_contents(BuiltPlugin::path($file));
    }
}
