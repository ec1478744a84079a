<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\Console\Support\Text;
use Larder\Store\File\Sizes;
use Larder\Store\File\State;
use Larder\System\DirectoryList;
use Larder\System\Failure;
use Larder\System\IncidentLog;
use Larder\System\MachineBoot;
use Larder\System\Ownership;
use Larder\System\Printable;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;

/**
 * Lets root look at another user's files with that user's rights, and no more.
 *
 * A user decides where paths of his lead, and can change that between two steps. So root does not follow them as root: a link to
 * another user's file then meets the same refusal as if the user himself had opened it. Only the effective ids change. The
 * user can neither signal nor trace this process, and a file system that he has mounted (FUSE) refuses it instead of holding
 * it up (fuse_allow_current_process() in Linux).
 */
final class ActingUser
{
    /** A group that no user's files need: none of root's groups may open another user's path either. */
    private const NO_GROUP = 65_534;

    private const NEEDED = ['posix_seteuid', 'posix_setegid', 'posix_initgroups'];

    /** Classes that are used as another user, who may not be able to read them: PHP loads them now. */
    private const CLASSES = [
        Found::class, Accounts::class, Allowance::class, Way::class, Origin::class, FileNames::class, SegmentHeader::class, Files::class, Inspection::class, Text::class, Printable::class, State::class, Sizes::class,
        DirectoryList::class, PrivateDirectory::class, IncidentLog::class, MachineBoot::class, Quiet::class, Failure::class,
    ];

    public readonly bool $isRoot;

    public function __construct()
    {
        $this->isRoot = Ownership::user() === 0;
        if ($this->isRoot) {
            foreach (self::NEEDED as $function) {
                \function_exists($function) || throw Failure::because('fleet', "PHP's function $function is missing: install the extension posix, or take it out of disable_functions");
            }
            \array_map(\class_exists(...), self::CLASSES);
            \posix_initgroups('nobody', self::NO_GROUP) || throw Failure::because('fleet', 'the groups of this process cannot be changed');
        }
    }

    public function __destruct()
    {
        // What goes on after the command (a test, an application) has root's groups again.
        !$this->isRoot || \posix_initgroups('root', 0) || throw new \LogicException('The groups of this process cannot be changed back.');
    }

    /** A group that no user has. */
    public function group(): int
    {
        return self::NO_GROUP;
    }

    /** Whether this process may look at that user's files at all. */
    public function isFor(int $uid): bool
    {
        return $this->isRoot || $uid === Ownership::user();
    }

    /**
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     *
     * @throws Failure this process cannot become that user
     */
    public function as(int $uid, \Closure $work): mixed
    {
        if (!$this->isRoot || $uid === 0) {
            return $work();
        }
        try {
            // The system call takes 32 bits of the number: others would be another user, or none.
            Accounts::isId($uid) && \posix_setegid(self::NO_GROUP) && \posix_seteuid($uid) || throw Failure::because('fleet', "this process cannot become the user $uid");

            return $work();
        } finally {
            \posix_seteuid(0) && \posix_setegid(0) || exit(1);
        }
    }
}
