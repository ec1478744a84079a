<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Request;
use Larder\Lab\WordPress\Site;
use PHPUnit\Framework\Attributes\Group;

/**
 * What docs/wordpress.md tells a new user to do, in a real browser: upload, activate, look, flush, deactivate, delete.
 *
 * With LARDER_PICTURES each page on the way is photographed into that directory.
 */
#[Group('wordpress')]
final class NewUserTest extends BrowserTestCase
{
    /** As Site Health advises where the web server gives the data away. */
    private const RULE = 'location ~ "/larder-[0-9a-f]{24}/" { deny all; }';

    private Site $bare;

    protected function tearDown(): void
    {
        parent::tearDown();
        unset($this->bare);
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
        self::assertSame(200, $this->bare->get('/second/')->status);
    }

    private function journey(string $flushed): void
    {
        $stored = $this->stored();
        self::assertStringContainsString('WordPress', $this->step('login', Site::USER, Site::PASSWORD));

        $installed = $this->step('install');
        self::assertStringStartsWith('Larder is now the object cache of this site, and works.', $installed['said'][0]);
        self::assertSame([], $installed['again'], 'It says so once.');
        self::assertContains('active', $installed['active']);
        self::assertFileExists($this->bare->content('object-cache.php'));
        $directory = $this->bare->cli('echo Larder\WordPress\Site::current()->directory();');
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
        self::assertFileDoesNotExist($this->bare->content('object-cache.php'));
        self::assertSame(200, $this->bare->get('/')->status);

        self::assertStringContainsString('Larder was successfully deleted.', $this->step('delete'));
        self::assertSame('', (string) \shell_exec('find ' . \escapeshellarg($this->bare->root) . ' -name "*larder*" -o -name "object-cache*"'), 'Nothing is left on the disk.');
        self::assertSame([], \glob(\dirname($this->bare->root) . '/larder*'));
        self::assertSame($stored, $this->stored(), 'Nothing is left in the database.');
        self::assertSame(200, $this->bare->get('/')->status);
        $errors = \preg_replace('~^.* access forbidden by rule, .*/probe-.*$~m', '', $this->bare->errors());
        self::assertSame('', \trim((string) $errors), 'Nobody complained of anything but of what Site Health tried.');

        $this->browser?->closeInput();
        self::assertSame([0, ''], [$this->browser?->wait(20.0), $this->browser?->errors()]);
    }

    /** @param ?list<string> $sites */
    private function bring(?array $sites): void
    {
        BuiltPlugin::build($this->directory->path);
        // A zip that is uploaded goes through a file else, and nginx says so.
        $this->bare = InstalledSite::bare($sites, ['client_body_buffer_size 4m;', self::RULE]);
        \mkdir($this->directory->file('profile'));
        $this->browse(
            'new-user.mjs',
            $this->bare->url(),
            $sites === null ? '/wp-admin/' : '/wp-admin/network/',
            $this->directory->file('profile'),
            $this->directory->file('larder.zip'),
            ...\array_filter([\getenv('LARDER_PICTURES')]),
        );
    }

    /** Nothing may have gone wrong on the way. */
    protected function step(string ...$words): mixed
    {
        $answer = parent::step(...$words);
        self::assertSame([], $answer['wrong'], $words[0]);

        return $answer['answer'];
    }

    /** Visitors come until some of them were counted, which is one in 16, drawn by lot. */
    private function visit(): void
    {
        // One request of sixteen is counted, perhaps one of the first, which found nothing.
        $counted = 'echo (new Larder\WordPress\Admin\Figures(Larder\WordPress\Statistics::hours($GLOBALS["wp_object_cache"]->larder()->group("~larder", true))))->kept;';
        for ($round = 0; $round < 20; $round++) {
            for ($i = 0; $i < 8; $i++) {
                foreach ($this->bare->browser()->together(\array_fill(0, 4, new Request('/'))) as $response) {
                    self::assertSame(200, $response->status);
                }
            }
            if ($this->bare->cli($counted) !== '0') {
                return;
            }
        }
        self::fail('Of 640 requests none was counted that found anything.');
    }

    /** @return list<string> whatever of the database has the plugin's name in it, but for WordPress's own list of what was active lately */
    private function stored(): array
    {
        $found = [];
        foreach ($this->bare->sql('SHOW TABLES') as $row) {
            $table = (string) \current($row);
            $texts = \array_column($this->bare->sql("SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '$table' AND data_type IN ('varchar', 'text', 'mediumtext', 'longtext', 'tinytext')"), 'name');
            if ($texts === []) {
                continue;
            }
            // The site itself lies in a directory with the name.
            $all = \sprintf("REPLACE(CONCAT_WS(' ', %s), '%s', '')", \implode(', ', \array_map(static fn(?string $name): string => "`$name`", $texts)), \dirname($this->bare->root));
            foreach ($this->bare->sql("SELECT $all AS text FROM `$table` WHERE $all LIKE BINARY '%larder%' AND $all NOT LIKE 'recently_activated %'") as ['text' => $text]) {
                $found[] = "$table: $text";
            }
        }

        return $found;
    }
}
