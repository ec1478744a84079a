<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Options;
use Larder\Lab\WordPress\Request;
use Larder\Lab\WordPress\Site;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * What docs/wordpress.md tells a new user to do, in a real browser: upload, activate, look, flush, deactivate, delete.
 *
 * With LARDER_PICTURES each page on the way is photographed into that directory.
 */
#[CoversNothing]
#[Group('wordpress')]
final class NewUserTest extends TestCase
{
    private const BROWSER = __DIR__ . '/browser';

    /** As Site Health advises where the web server gives the data away. */
    private const RULE = 'location ~ "/larder-[0-9a-f]{24}/" { deny all; }';

    private TemporaryDirectory $directory;
    private Site $site;
    private ?Process $browser = null;

    protected function setUp(): void
    {
        foreach (['node', \getenv('CHROMIUM') ?: 'chromium'] as $program) {
            if (\shell_exec('command -v ' . \escapeshellarg($program)) === null) {
                self::markTestSkipped("No $program: install Debian's packages chromium, nodejs and npm.");
            }
        }
        if (!\is_dir(self::BROWSER . '/node_modules')) {
            self::markTestSkipped('No playwright-core: make test-wordpress fetches it.');
        }
    }

    protected function tearDown(): void
    {
        $this->browser?->kill();
        $this->browser = null;
        unset($this->site, $this->directory);
    }

    public function testASite(): void
    {
        $this->bring(null);
        $this->journey('The cache of this site was flushed.');
    }

    #[Group('long')]
    public function testANetwork(): void
    {
        $this->bring(['second']);
        $this->journey('The cache of all sites was flushed.');
        self::assertSame(200, $this->site->get('/second/')->status);
    }

    private function journey(string $flushed): void
    {
        $stored = $this->stored();
        self::assertStringContainsString('WordPress', $this->step('login', Site::USER, Site::PASSWORD));

        $installed = $this->step('install');
        self::assertStringStartsWith('Larder is now the object cache of this site, and works.', $installed['said'][0]);
        self::assertSame([], $installed['again'], 'It says so once.');
        self::assertContains('active', $installed['active']);
        self::assertFileExists($this->site->content('object-cache.php'));
        $directory = $this->site->cli('echo Larder\WordPress\Site::current()->directory();');
        self::assertDirectoryExists($directory);
        self::assertSame('0700', \substr(\sprintf('%o', \fileperms($directory)), -4));

        $this->visit();
        $page = $this->step('look');
        self::assertMatchesRegularExpression('/^[1-9][0-9.]* %$/', $page['tiles']['Reads answered']);
        self::assertGreaterThan(0.0, (float) $page['tiles']['Kept from earlier requests']);
        self::assertSame([], \preg_grep('/critical/', $page['findings']));
        self::assertStringStartsWith('Larder ', $page['bar']);
        $entries = (int) $page['entries'];
        self::assertGreaterThan(10, $entries);

        $after = $this->step('flush');
        self::assertStringStartsWith($flushed, $after['said'][0]);
        self::assertLessThan($entries, (int) $after['entries']);

        $health = $this->step('health');
        self::assertSame([], \preg_grep('/Larder|object cache/i', $health['critical']));
        foreach (['A persistent object cache is being used', 'Larder\'s drop-in is in place', 'Larder keeps what is stored', 'Nobody can read Larder\'s data over the web'] as $title) {
            self::assertContains($title, $health['good']);
        }

        self::assertContains('Plugin deactivated.', $this->step('deactivate'));
        self::assertFileDoesNotExist($this->site->content('object-cache.php'));
        self::assertSame(200, $this->site->get('/')->status);

        self::assertStringContainsString('Larder was successfully deleted.', $this->step('delete'));
        self::assertSame('', (string) \shell_exec('find ' . \escapeshellarg($this->site->root) . ' -name "*larder*" -o -name "object-cache*"'), 'Nothing is left on the disk.');
        self::assertSame([], \glob(\dirname($this->site->root) . '/larder*'));
        self::assertSame($stored, $this->stored(), 'Nothing is left in the database.');
        self::assertSame(200, $this->site->get('/')->status);
        $errors = \preg_replace('~^.* access forbidden by rule, .*/probe-.*$~m', '', $this->site->errors());
        self::assertSame('', \trim((string) $errors), 'Nobody complained of anything but of what Site Health tried.');

        $this->browser?->closeInput();
        self::assertSame([0, ''], [$this->browser?->wait(20.0), $this->browser?->errors()]);
    }

    /** @param ?list<string> $sites */
    private function bring(?array $sites): void
    {
        $this->directory = new TemporaryDirectory();
        BuiltPlugin::build($this->directory->path);
        $this->site = new Site(new Options(
            \getenv('LARDER_WORDPRESS') ?: '7.1',
            $sites,
            // A zip that is uploaded goes through a file else, and nginx says so.
            nginx: ['client_body_buffer_size 4m;', self::RULE],
            // What of WordPress is for networks has deprecations of its own.
            errors: $sites === null ? \E_ALL : \E_ALL & ~\E_DEPRECATED,
        ));
        \mkdir($this->directory->file('profile'));
        $this->browser = new Process([
            'node', self::BROWSER . '/new-user.mjs', $this->site->url(), $sites === null ? '/wp-admin/' : '/wp-admin/network/',
            $this->directory->file('profile'), $this->directory->file('larder.zip'), ...\array_filter([\getenv('LARDER_PICTURES')]),
        ], ['TMPDIR' => $this->directory->path]);
    }

    /** What the step answers (tests/WordPress/browser/new-user.mjs); nothing may have gone wrong on the way. */
    private function step(string ...$words): mixed
    {
        $this->browser?->write(\json_encode($words, \JSON_THROW_ON_ERROR) . "\n");
        $line = $this->browser?->line(120.0);
        self::assertIsString($line, "$words[0]: " . $this->browser?->errors());
        $answer = \json_decode($line, true, flags: \JSON_THROW_ON_ERROR);
        self::assertSame([], $answer['wrong'], $words[0]);

        return $answer['answer'];
    }

    /** Visitors come until some of them were counted, which is one in 16, drawn by lot. */
    private function visit(): void
    {
        $counted = 'echo array_sum(array_column(Larder\WordPress\Statistics::hours($GLOBALS["wp_object_cache"]->larder()->group("~larder", true)), "hits"));';
        for ($round = 0; $round < 20; $round++) {
            for ($i = 0; $i < 8; $i++) {
                foreach ($this->site->browser()->together(\array_fill(0, 4, new Request('/'))) as $response) {
                    self::assertSame(200, $response->status);
                }
            }
            if ($this->site->cli($counted) !== '0') {
                return;
            }
        }
        self::fail('Of 640 requests none was counted.');
    }

    /** @return list<string> whatever of the database has the plugin's name in it, but for WordPress's own list of what was active lately */
    private function stored(): array
    {
        $found = [];
        foreach ($this->site->sql('SHOW TABLES') as $row) {
            $table = (string) \current($row);
            $texts = \array_column($this->site->sql("SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '$table' AND data_type IN ('varchar', 'text', 'mediumtext', 'longtext', 'tinytext')"), 'name');
            if ($texts === []) {
                continue;
            }
            // The site itself lies in a directory with the name.
            $all = \sprintf("REPLACE(CONCAT_WS(' ', %s), '%s', '')", \implode(', ', \array_map(static fn(?string $name): string => "`$name`", $texts)), \dirname($this->site->root));
            foreach ($this->site->sql("SELECT $all AS text FROM `$table` WHERE $all LIKE BINARY '%larder%' AND $all NOT LIKE 'recently_activated %'") as ['text' => $text]) {
                $found[] = "$table: $text";
            }
        }

        return $found;
    }
}
