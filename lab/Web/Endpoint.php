<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Counter;
use Larder\Lab\Installation;
use Larder\Lab\Plan\Subject;
use Larder\Queue\Queue;

/**
 * The scripts of the scenarios `counters` and `queues`, for each driver as its users write them: what the route
 * /cache/DRIVER or /queue/DRIVER runs, and beside it, for the laboratory,
 *
 *     load.php   finds classes, by Composer's own loader, without what only Larder's developers load in each request
 *     held.php   prints the counter, or how many messages wait
 *     clear.php  sets that to zero
 *     take.php   takes messages until it is told to stop and none is left, and prints how many; a program
 */
final class Endpoint
{
    public const SCRIPT = 'endpoint';

    /** What is pushed. */
    public const MESSAGE = '{"to":"somebody@example.org","subject":"Welcome"}';

    /** Its existence tells take.php to end when nothing is left. */
    public const STOP = 'stop';

    /** {take} waits a little, and is true if it got one. */
    private const TAKE = '$n = 0; do { $isLast = is_file(__DIR__ . "/' . self::STOP . '"); while ({take}) { $n++; } } while (!$isLast); echo $n;';

    /**
     * @param array<string, string|int> $address of the subject's server
     *
     * @return array<string, string> by file name
     */
    public static function scripts(Subject $subject, string $dsn, array $address): array
    {
        if (($subject->parameters['script'] ?? '') !== self::SCRIPT) {
            return [];
        }
        $require = "require __DIR__ . '/load.php';";
        $open = static fn(string $class, string $name): string => "$require \$c = \\$class::open(" . \var_export($dsn, true) . ", '$name');";
        $socket = \var_export((string) ($address['socket'] ?? ''), true);
        $redis = "\$c = new Redis(); \$c->connect($socket);";
        $predis = "$require \$c = new Predis\\Client(['scheme' => 'unix', 'path' => $socket]);";
        $message = \var_export(self::MESSAGE, true);
        $list = static fn(string $open): array => [$open, "\$c->rPush('queue', [$message]) > 0", "\$c->lLen('queue')", "\$c->del('queue')", "(bool) \$c->blPop(['queue'], 1)"];
        [$begin, $do, $held, $clear, $take] = match ((string) $subject->parameters['driver']) {
            'fake' => ['', '1', '0', '', 'false'],
            'counter/memcached' => ["\$c = new Memcached(); \$c->addServer($socket, 0);", "\$c->increment('counter')", "(int) \$c->get('counter')", "\$c->set('counter', 0)", 'false'],
            'counter/redis' => [$redis, "\$c->incr('counter')", "(int) \$c->get('counter')", "\$c->del('counter')", 'false'],
            'counter/predis' => [$predis, "\$c->incr('counter')", "(int) \$c->get('counter')", "\$c->del(['counter'])", 'false'],
            'counter/larder' => [$open(Counter::class, 'counter'), '$c->add()', '$c->value()', '$c->reset()', 'false'],
            'counter/cache' => ["$require \$c = Larder\\Cache::open(" . \var_export($dsn, true) . ');', "\$c->increment('counter')", "(int) \$c->get('counter')", "\$c->delete('counter')", 'false'],
            'queue/redis' => $list($redis),
            'queue/predis' => $list($predis),
            // A socket that PHP keeps from request to request is connected once.
            'queue/zmq' => [
                "\$c = (new ZMQContext())->getSocket(ZMQ::SOCKET_PUSH, 'queue'); \$c->getEndpoints()['connect'] || \$c->connect('$dsn');", "(bool) \$c->send($message)", '0', '',
                "(\$p ??= (static function () { \$p = (new ZMQContext())->getSocket(ZMQ::SOCKET_PULL); \$p->setSockOpt(ZMQ::SOCKOPT_RCVTIMEO, 100); \$p->bind('$dsn'); return \$p; })())->recv() !== false",
            ],
            'queue/larder' => [
                $open(Queue::class, 'queue'), "\$c->push($message) !== ''", '$c->size()', '$c->purge()',
                '($m = isset($m) ? $c->ackAndPop($m, wait: 0.1) : $c->pop(wait: 0.1)) !== null',
            ],
            default => throw new \LogicException("There is no driver {$subject->parameters['driver']}."),
        };

        return [
            'load.php' => Loader::program(Installation::library() . '/src'),
            'index.php' => "<?php $begin echo (int) ($do);",
            'held.php' => "<?php $begin echo $held;",
            'clear.php' => $clear === '' ? '<?php ' : "<?php $begin $clear;",
            'take.php' => "<?php $begin " . \str_replace('{take}', $take, self::TAKE),
        ];
    }
}
