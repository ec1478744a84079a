<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/**
 * What one process did, a line a step, for the Checker: History reads it.
 *
 *     R <begin>                               a request begins; the stamp is from before its cache was opened
 *     V <epoch> <position> <token> <near>     what it knows of the journal, and whether it reads from near tiers
 *     G <begin> <end> <key> <tier> <value>    a get: r(equest), n(ear), t(ruth), m: by remember(), -: a miss
 *     N <begin> <end> <counter> <count>       a get of a counter; 0: a miss
 *     D <begin> <end> <row>=<version>,…       a read of the database
 *     B <begin> <what> <arguments>            a call that changes something begins …
 *     T <time> <value>                        … may store this …
 *     E <end> <result> <remarks>              … and has returned
 *     Z <end> <calls>                         the request has ended, with all that is done at its end
 *     X <time> <message>                      something that must not happen: an exception, a warning
 *
 * A transaction is the call `begin`, and the call `end` with `commit` or `rollback`; what it writes into the database
 * is noted when that is committed.
 *
 * Stamps are hrtime(): one clock for all processes of the machine. Each line is one write to the file, so that
 * nothing is lost when the process is killed, and what was begun is known.
 */
final class Diary
{
    /** @var resource */
    private $file;

    public function __construct(string $path)
    {
        $file = \fopen($path, 'a');
        if ($file === false) {
            throw new \RuntimeException('Cannot open ' . $path);
        }
        $this->file = $file;
    }

    public function note(string $line): void
    {
        \fwrite($this->file, $line . "\n");
    }

    /** From here on whatever PHP complains about is written down. */
    public function listen(): void
    {
        \set_error_handler(function (int $level, string $message, string $file, int $line): bool {
            $this->trouble("$message in $file:$line");

            return true;
        });
    }

    public function trouble(string $message): void
    {
        $this->note('X ' . \hrtime(true) . ' ' . \strtr($message, "\r\n", '  '));
    }
}
