<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\TemporaryDirectory;

/** A site with the plugin, whose requests can be made to die after any of their statements. */
final class IntentSite extends InstalledSite
{
    private readonly TemporaryDirectory $directory;

    /** @param ?list<string> $sites as Options takes them */
    public function __construct(?array $sites = null)
    {
        $this->directory = new TemporaryDirectory();
        \chmod($this->directory->path, 0o755);
        // Each command compiles WordPress else. The site's user writes there.
        $compiled = $this->directory->file('compiled');
        \mkdir($compiled);
        \chmod($compiled, 0o777);
        parent::__construct(['EMPTY_TRASH_DAYS' => 30], $sites, ['opcache.enable_cli' => 1, 'opcache.file_cache' => $compiled]);
    }

    /**
     * Runs cases, and tells at how many statements each could die, and after which of them something was stale then.
     *
     * @param array<string, array{string, string}> $cases   by name: what comes before, which returns an array of what
     *                                                      there is to be looked at; and what shall be tried
     * @param bool                                 $every   also after statements that only read
     * @param string                               $end     "kill", "exit", "fatal", "memory", "time"
     *
     * @return array<string, array{points: int, stale: array<array-key, list<string>>}>
     */
    public function die(array $cases, bool $intents = true, bool $every = false, string $end = 'kill'): array
    {
        // The site's user works there.
        $work = $this->directory->path . '/work';
        \is_dir($work) || \mkdir($work);
        $order = "$work/order.json";
        \file_put_contents($order, \json_encode([
            'cases' => $cases, 'intents' => $intents, 'every' => $every, 'end' => $end,
            'ends' => ['kill' => ['signal 9'], 'exit' => ['status 9']][$end] ?? ['status 255'],
        ], \JSON_THROW_ON_ERROR));
        $this->site->account->receive($work);
        foreach (['driver', 'job', 'state'] as $file) {
            \copy(__DIR__ . "/Intent/$file.php", "$work/$file.php");
        }
        $said = $this->site->cli("require '$work/job.php';", before: \sprintf("const INTENT_ORDER = %s;\nrequire '$work/driver.php';", \var_export($order, true)));
        $report = \json_decode((string) \strrchr($said, "\n"), true);
        \is_array($report) || throw new \RuntimeException(\substr($said, -2000));

        /** @var array<string, array{points: int, stale: array<array-key, list<string>>}> $report */
        return $report;
    }

    protected function begin(): void
    {
        $this->site->putDropIn(__DIR__ . '/Intent/db.php', 'db.php');
        parent::begin();
    }
}
