<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Instructions\Count;
use Larder\Lab\Instructions\InstructionsTask;
use Larder\Lab\Instructions\Kept;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Once;
use Larder\Lab\Subject\LarderExtension;

/** Instructions of one call, by layer, as callgrind counts them; beside those of docs/instructions.json. */
final readonly class Instructions extends Scenario
{
    public const NAME = 'instructions';

    private const PAYLOAD = 'call';

    /** Engine: what of it is called, Larder's DSN and near tier, the tier that answers. */
    private const ROWS = [
        'larder-request' => [['read'], 'memory://', '', 'request'],
        'larder-segment' => [['read'], 'sqlite://{directory}', 'segment://{directory}/segment?bytes=67108864', 'near'],
        'larder-apcu' => [['read'], 'sqlite://{directory}', 'apcu', 'near'],
        'larder-sqlite' => [['read', 'write', 'delete', 'fill', 'remember', 'prefetch'], 'sqlite://{directory}', 'none', 'below'],
        'larder-redis' => [['read', 'write', 'delete'], 'redis://{socket}', 'none', 'below'],
        'larder-wordpress-request' => [['read'], 'memory://', '', 'request'],
        'larder-wordpress-sqlite' => [['read', 'write', 'delete'], 'sqlite://{directory}', 'none', 'below'],
        'empty' => [['page'], '', '', ''],
        'larder-page' => [['page'], '', '', ''],
    ];

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'instructions of one call of each layer, and of a request of php-fpm, counted by valgrind\'s callgrind; compared with docs/instructions.json',
            'Instructions',
            'The same in every run but for a percent. WordPress\'s rows are wp_cache_get(), wp_cache_set() and wp_cache_delete() of a transient. A request of php-fpm is an empty script, and one with Larder and one get.',
            first: self::PAYLOAD . '/read',
            sideBySide: true,
            payloads: [self::PAYLOAD => 'a call'],
            operations: ['read' => 'get', 'write' => 'set', 'delete' => 'delete', 'fill' => 'fill', 'remember' => 'remember', 'prefetch' => 'prefetch and first get, a key', 'page' => 'a request of php-fpm'],
            columns: ['read' => 'get', 'write' => 'set', 'prefetch' => 'prefetch and get', 'page' => 'request of php-fpm'],
        );
    }

    public function subjects(): array
    {
        $needs = ['larder-segment' => LarderExtension::need(), 'larder-apcu' => Need::extension('apcu'), 'larder-redis' => Need::extension('redis')];
        $subjects = [];
        foreach (self::ROWS as $engine => [, $dsn, $near, $tier]) {
            $service = $engine === 'larder-redis' ? 'redis' : null;
            $connection = $service === null ? Cell::PROCESS : Cell::SOCKET;
            $subjects[] = new Subject(
                "$engine:$connection",
                $engine,
                $connection,
                'none',
                'none',
                [Need::checkout(), Count::need(), Need::sqlite(), ...isset($needs[$engine]) ? [$needs[$engine]] : [], ...$service === null ? [] : [Need::redisServer()]],
                InstructionsTask::class,
                ['dsn' => $dsn, 'near' => $near, 'tier' => $tier],
                $service,
                ['apc.enable_cli' => 1, 'memory_limit' => '1G'] + ($tier === '' ? ['opcache.enable' => 1] : []),
            );
        }

        return $subjects;
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        return \array_map(static fn(Subject $subject): Once => new Once(new InstructionsTask(
            self::NAME . "/$subject->name",
            \array_map(static fn(string $operation): Side => Side::of(self::NAME, $subject, self::PAYLOAD, $operation, 1, Cell::COUNT), self::ROWS[$subject->engine][0]),
        )), $subjects);
    }

    /** Nothing: a count is compared with that of the change before. */
    public function base(Cell $cell): ?string
    {
        return null;
    }

    public function remarks(array $results): array
    {
        return Kept::read(Kept::FILE)?->changes(Kept::of(self::NAME, $results)) ?? ['Instructions: there is no docs/instructions.json to compare them with.'];
    }
}
