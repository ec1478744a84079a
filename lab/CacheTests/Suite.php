<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

use Larder\Lab\Plan\Need;
use Larder\Lab\Service\ServiceFailure;
use Symfony\Component\Process\Process;

/**
 * The public tests for HTTP caches (github.com/http-tests/cache-tests), of one commit.
 *
 * This folder holds what scores the page cache with them: Suite (their files), Rig (the servers), Forwarder (the
 * application behind the page cache), Score (the counting).
 *
 * @phpstan-import-type Results from Score
 * @phpstan-import-type Test from Score
 */
final readonly class Suite
{
    private const REPOSITORY = 'https://github.com/http-tests/cache-tests';

    /** The repository's tests change: a score is one of these. */
    private const COMMIT = 'b55b8bda3dbb8c927c04e85bd8d496a8caa3e4ba';

    /** What its client sends a request with that may have an interim response. */
    private const CLIENT = 'undici@7.4.0';

    /** Names another place of the repository, for machines that cannot reach that one. */
    private const PLACE = 'LARDER_CACHE_TESTS';

    /** Seconds. */
    private const INSTALLATION = 300.0;

    /** Seconds, at most: the tests take twenty, most of which they wait for responses to expire. */
    private const RUN = 600.0;

    /** The tests without those for browsers only, as JSON. */
    private const DESCRIBE = <<<'JS'
        import tests from './tests/index.mjs'
        console.log(JSON.stringify(tests.flatMap(group => group.tests
          .filter(test => test.browser_only !== true)
          .map(test => ({ id: test.id, name: test.name, kind: test.kind ?? 'required', depends_on: test.depends_on ?? [] })))))
        JS;

    /** Published results that are not a browser's: name with version, and file, as JSON. */
    private const PUBLISHED = <<<'JS'
        import results from './results/index.mjs'
        console.log(JSON.stringify(Object.fromEntries(results
          .filter(result => result.type !== 'browser')
          .map(result => [`${result.name} ${result.version}`, result.file]))))
        JS;

    private function __construct(public string $directory) {}

    /**
     * @param string $build where it is put, if it is not there yet
     *
     * @throws ServiceFailure
     */
    public static function installed(string $build = __DIR__ . '/../../build/cache-tests'): self
    {
        foreach (['node' => 'nodejs', 'npm' => 'npm', 'git' => 'git'] as $program => $package) {
            Need::find([$program]) !== null || throw new ServiceFailure("There is no $program on this machine: apt-get install $package");
        }
        \is_dir($build) || \mkdir($build, 0o777, true);
        $directory = \realpath($build) . '/' . self::COMMIT;
        if (!\is_dir($directory)) {
            $new = "$directory-" . \getmypid();
            $given = \getenv(self::PLACE);
            self::output(['git', 'clone', '--quiet', '--no-checkout', $given === false ? self::REPOSITORY : $given, $new], $build, [], self::INSTALLATION);
            self::output(['git', 'checkout', '--quiet', self::COMMIT], $new, [], self::INSTALLATION);
            // Nothing else that its package.json names: that is for its own pages, and large.
            \unlink("$new/package.json");
            self::output(['npm', 'install', '--prefix', $new, '--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', self::CLIENT], $new, [], self::INSTALLATION);
            // In one step, so that another process sees all of it or nothing. It may have been faster.
            @\rename($new, $directory) || self::output(['rm', '-rf', $new], $build);
        }

        return new self($directory);
    }

    /** @return list<Test> */
    public function tests(): array
    {
        /** @var list<Test> */
        return $this->evaluated(self::DESCRIBE);
    }

    /**
     * Runs all tests against a server.
     *
     * @param string $base "http://127.0.0.1:8000"
     *
     * @return Results
     */
    public function run(string $base): array
    {
        return self::results($this->dump($base, ''));
    }

    /**
     * What the suite's authors have found of other shared caches.
     *
     * @return array<string, Results> by the name of the cache
     */
    public function published(): array
    {
        $published = [];
        /** @var string $file */
        foreach ($this->evaluated(self::PUBLISHED) as $name => $file) {
            $published[(string) $name] = self::results((string) \file_get_contents("$this->directory/results/$file"));
        }

        return $published;
    }

    /**
     * @param string $script one that prints JSON
     *
     * @return array<mixed>
     */
    private function evaluated(string $script): array
    {
        return self::decoded(self::output(['node', '--no-warnings', '--input-type=module', '--eval', $script], $this->directory));
    }

    /** Runs one test against a server, or with no id all, and returns what the suite's client says. */
    public function dump(string $base, string $id): string
    {
        // As `npm run cli` would give them; cli.mjs takes one that is not there for an id.
        $environment = ['npm_config_base' => $base, 'npm_config_id' => $id, 'npm_package_config_id' => $id];

        return self::output(['node', '--no-warnings', 'test-engine/cli.mjs'], $this->directory, $environment, self::RUN);
    }

    /** @return Results */
    private static function results(string $json): array
    {
        /** @var Results */
        return self::decoded($json);
    }

    /** @return array<mixed> */
    private static function decoded(string $json): array
    {
        try {
            $decoded = \json_decode($json, true, flags: \JSON_THROW_ON_ERROR);
        } catch (\JsonException) {
            $decoded = null;
        }

        return \is_array($decoded) ? $decoded : throw new ServiceFailure('The suite says what is no JSON: ' . \substr($json, 0, 400));
    }

    /**
     * @param non-empty-list<string> $words
     * @param array<string, string>  $environment
     * @param float                  $timeout     seconds
     */
    private static function output(array $words, string $directory, array $environment = [], float $timeout = 60.0): string
    {
        $process = new Process($words, $directory, $environment, timeout: $timeout);
        $process->run();
        $process->isSuccessful() || throw new ServiceFailure("$words[0] failed: " . \substr(\trim($process->getErrorOutput() . $process->getOutput()), -400));

        return $process->getOutput();
    }
}
