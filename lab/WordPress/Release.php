<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\Command;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Service\Silence;

/** A WordPress as it is published, without a configuration; it is only read. */
final readonly class Release
{
    private function __construct(
        public string $path,
        public string $version,
    ) {}

    /**
     * @param string $version as Options takes it
     *
     * @throws ServiceFailure
     */
    public static function find(string $version): self
    {
        $path = $version;
        if (!\str_starts_with($version, '/')) {
            $unpacked = Command::run([self::project() . '/bin/wordpress', $version], 300.0);
            $unpacked->succeeded || throw new ServiceFailure("There is no WordPress $version, and \"bin/wordpress $version\" cannot unpack it: $unpacked->errors");
            $path = \trim($unpacked->output);
        }
        $file = (string) Silence::of(static fn(): string|false => \file_get_contents("$path/wp-includes/version.php"));
        if (\preg_match('/^\$wp_version\s*=\s*\'([^\']+)\'/m', $file, $found) !== 1) {
            throw new ServiceFailure("$path is no WordPress: remove it, and type bin/wordpress $version");
        }

        return new self($path, $found[1]);
    }

    /** Where templates of sites lie; git ignores it. */
    public static function cache(): string
    {
        return self::project() . '/.cache/wordpress/sites';
    }

    /**
     * Copies it to a directory that is not there yet: what only WordPress's makers change by hard links where these are
     * possible, wp-content as a copy.
     */
    public function copy(string $to): void
    {
        \mkdir($to, 0o755);
        $names = \array_map(fn(string $name): string => "$this->path/$name", \array_diff(\scandir($this->path) ?: [], ['.', '..', 'wp-content', 'wp-config.php']));
        if (!Command::run(['cp', '--archive', '--link', ...$names, $to], 60.0)->succeeded) {
            // Another file system.
            $this->must(Command::run(['cp', '--archive', '--force', ...$names, $to], 60.0));
        }
        $this->must(Command::run(['cp', '--archive', "$this->path/wp-content", $to], 60.0));
    }

    private function must(Command $copy): void
    {
        $copy->succeeded || throw new ServiceFailure("Cannot copy WordPress: $copy->errors");
    }

    private static function project(): string
    {
        return \dirname(__DIR__, 2);
    }
}
