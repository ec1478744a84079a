<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** The user that a server's work is done as. */
final readonly class Account
{
    private function __construct(
        public string $name,
        public int $user,
        public int $group,
    ) {}

    /** As on real sites: where root starts the servers it is www-data, else the user who starts them. */
    public static function ofServers(): self
    {
        return \posix_geteuid() === 0 ? self::named('www-data') : self::own();
    }

    public static function own(): self
    {
        return self::from(\posix_getpwuid(\posix_geteuid()), (string) \posix_geteuid());
    }

    public static function named(string $name): self
    {
        return self::from(\posix_getpwnam($name), $name);
    }

    /** Whether it is another user's. */
    public function isOther(): bool
    {
        return $this->user !== \posix_geteuid();
    }

    /**
     * Words before a command that shall run as this user; it ends with who started it.
     *
     * @return list<string>
     */
    public function words(): array
    {
        // A change of the user takes the signal away that the lab's death sends, so it is asked for again.
        return $this->isOther()
            ? ['setpriv', '--reuid', (string) $this->user, '--regid', (string) $this->group, '--init-groups', '--pdeathsig', 'KILL', '--']
            : [];
    }

    /**
     * Gives it a file, or a directory with everything in it.
     *
     * @throws ServiceFailure
     */
    public function receive(string $path): void
    {
        if ($this->isOther()) {
            $change = Command::run(['chown', '--recursive', "$this->user:$this->group", $path]);
            $change->succeeded || throw new ServiceFailure("Cannot give $path to $this->name: $change->errors");
        }
    }

    /**
     * Before a server works there as this user.
     *
     * @throws ServiceFailure if a directory on the way is closed to it
     */
    public function enter(string $directory): void
    {
        if ($this->isOther() && !Command::run([...$this->words(), 'test', '-x', $directory])->succeeded) {
            throw new ServiceFailure("$this->name cannot enter $directory. Let other users pass through all directories on the way (chmod a+x), or set TMPDIR to one that they can enter, for example /tmp.");
        }
    }

    /** @param array{name: string, uid: int, gid: int, ...}|false $entry */
    private static function from(array|false $entry, string $asked): self
    {
        return $entry === false
            ? throw new ServiceFailure("There is no user $asked on this machine.")
            : new self($entry['name'], $entry['uid'], $entry['gid']);
    }
}
