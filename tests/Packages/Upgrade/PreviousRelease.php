<?php

declare(strict_types=1);

namespace Larder\Tests\Packages\Upgrade;

use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Assert;
use Symfony\Component\Process\Process;

/** The release before what is checked out, by git: its own classes, and the checkout's libraries. */
final class PreviousRelease
{
    /** Until there is a release: the last commit before the interface was prepared for one. */
    private const FIRST = 'cf1f0d3eec25f2ee6989fbe9603b68819b19305d';

    private const ADVICE = 'The release before this one is not in git\'s history here. In a clone without all of it type: git fetch --unshallow --tags';

    private readonly TemporaryDirectory $directory;

    private readonly string $name;

    /** @param string $checkout whose history has it */
    public function __construct(private readonly string $checkout)
    {
        $this->name = self::name($checkout);
        $this->directory = new TemporaryDirectory('larder-old');
        $this->unpack($this->name, $this->directory->path);
        $this->directory->write('autoload.php', \sprintf(<<<'PHP'
            <?php
            $composer = %s;
            require "$composer/ClassLoader.php";
            $loader = new Composer\Autoload\ClassLoader();
            foreach (require "$composer/autoload_psr4.php" as $namespace => $directories) {
                str_starts_with($namespace, 'Larder\\') || $loader->setPsr4($namespace, $directories);
            }
            $loader->setPsr4('Larder\\', __DIR__ . '/src');
            $loader->register();
            PHP, \var_export(\dirname(__DIR__, 3) . '/vendor/composer', true)));
    }

    /** A tag, or a commit. */
    private static function name(string $checkout): string
    {
        $tag = self::git($checkout, 'describe', '--tags', '--abbrev=0', '--match=v[0-9]*', 'HEAD^');
        if ($tag === null) {
            // Without the history nobody knows whether there is a tag.
            self::git($checkout, 'rev-parse', '--is-shallow-repository') === 'false' || Assert::fail(self::ADVICE);
        }

        return $tag ?? self::FIRST;
    }

    /** What git prints; null: it fails. */
    private static function git(string ...$arguments): ?string
    {
        $git = new Process(['git', '-C', ...$arguments]);

        return $git->run() === 0 ? \trim($git->getOutput()) : null;
    }

    /** The directory that its package has. */
    public function root(): string
    {
        return $this->directory->path;
    }

    /** Its extension, which the first call builds: the module's file. */
    public function extension(): string
    {
        $directory = $this->directory->file('ext');
        $module = "$directory/modules/larder.so";
        if (!\is_file($module)) {
            \mkdir($directory);
            $this->unpack("$this->name:ext", $directory);
            (new Process(['sh', '-c', 'phpize && ./configure --quiet && make --silent -j2'], $directory, timeout: 600.0))->mustRun();
        }

        return $module;
    }

    private function unpack(string $tree, string $directory): void
    {
        $archive = $this->directory->file('release.tar');
        self::git($this->checkout, 'archive', "--output=$archive", $tree) ?? Assert::fail(self::ADVICE . " (it is $tree)");
        (new Process(['tar', '-xf', $archive, '-C', $directory]))->mustRun();
    }
}
