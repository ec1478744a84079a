<?php

declare(strict_types=1);

namespace Larder\Lab\Instructions;

use Larder\Lab\Installation;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Plan\TableTask;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Place;
use Larder\Lab\Subject\LarderExtension;
use Larder\Lab\Web\Loader;

/** The instructions of each of a subject's calls. Of the subject's parameters "dsn" and "near" are Larder's. */
final readonly class InstructionsTask extends TableTask
{
    /** Calls that are counted: more of the cheap ones, which the noise of a process's start would hide. */
    private const CALLS = ['request' => 20_000, 'near' => 3_000, 'below' => 300];

    /** Of php-fpm. */
    private const REQUESTS = 40;

    private const EXTENSIONS = ['pdo', 'pdo_sqlite', 'posix', 'ctype', 'mbstring', 'igbinary', 'msgpack', 'apcu', 'redis'];

    private const VALUE = 'Hello from the cache.';

    public function perform(Context $context): array
    {
        return \array_map(fn(Side $side): Measured => new Measured([$this->count($side, $context)]), $this->sides);
    }

    private function count(Side $side, Context $context): float
    {
        $subject = $side->subject;
        if ($side->cell->operation === 'page') {
            $home = $context->services->directory()->sub('instructions');
            \file_put_contents($home->file('load.php'), Loader::program(Installation::library() . '/src'));
            $code = $subject->engine === 'empty' ? '' : \sprintf(
                'require %s; echo Larder\Cache::open(%s)->remember("key", static fn() => %s);',
                \var_export($home->file('load.php'), true),
                \var_export("sqlite://{$home->sub('store')->path}?near=none", true),
                \var_export(self::VALUE, true),
            );
            \file_put_contents($script = $home->file('index.php'), "<?php $code");
            $worker = static fn(int $more): int => Count::ofWorker($home, $script, $code === '' ? '' : self::VALUE, self::REQUESTS + $more, $subject->ini);

            return Count::ofCall($worker, self::REQUESTS);
        }
        $counted = self::CALLS[(string) $subject->parameters['tier']];
        $php = self::php($subject);

        return Count::ofCall(static function (int $calls) use ($context, $subject, $side, $counted, $php): int {
            // The same path each time: a file's name decides where its keys lie in a table.
            $directory = $context->services->memory()->file('instructions');
            $socket = $subject->service === null ? '' : (string) $context->services->get($subject->service)->address()['socket'];
            $socket === '' || Place::answer("unix://$socket", "FLUSHALL\r\nQUIT\r\n");
            $place = static fn(string $name): string => \str_replace(['{directory}', '{socket}'], [$directory, $socket], (string) $subject->parameters[$name]);
            try {
                return Count::ofProcess([...$php, __DIR__ . '/../instructions.php', $subject->engine, $side->cell->operation, (string) $counted, (string) $calls, $place('dsn'), $place('near')]);
            } finally {
                Directory::clear($directory);
            }
        }, $counted);
    }

    /**
     * Without php.ini: most of what it loads is not needed here, and takes most of a short process's instructions.
     *
     * @return non-empty-list<string>
     */
    private static function php(Subject $subject): array
    {
        $command = [\PHP_BINARY, '-n'];
        foreach (self::EXTENSIONS as $extension) {
            if (\is_file(\ini_get('extension_dir') . "/$extension.so")) {
                \array_push($command, '-d', "extension=$extension");
            }
        }
        if ($subject->engine === 'larder-segment') {
            \array_push($command, '-d', 'extension=' . LarderExtension::module());
        }
        foreach ($subject->ini as $name => $value) {
            \array_push($command, '-d', "$name=$value");
        }

        return $command;
    }
}
