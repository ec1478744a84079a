<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\System\Quiet;

/** The users of this server. */
final class Accounts
{
    /** @var array<int, array{string, string}> name and home by id */
    private array $known = [];

    /** @var array<int, ?string> */
    private array $names = [];

    public function __construct(string $file = '/etc/passwd')
    {
        foreach (\explode("\n", (string) Quiet::call(static fn(): string|false => \file_get_contents($file))) as $line) {
            $fields = \explode(':', $line);
            // passwd(5): several names may have one id.
            if (isset($fields[5]) && \ctype_digit($fields[2])) {
                $this->known[(int) $fields[2]] ??= [$fields[0], \rtrim($fields[5], '/')];
            }
        }
    }

    /** @return list<int> those in /etc/passwd; a directory service may know more */
    public function ids(): array
    {
        return \array_keys($this->known);
    }

    /** Null: no user has that id. */
    public function name(int $uid): ?string
    {
        return \array_key_exists($uid, $this->names) ? $this->names[$uid] : $this->names[$uid] = $this->find($uid)[0] ?? null;
    }

    public function home(int $uid): string
    {
        return $this->find($uid)[1] ?? '';
    }

    /** @return ?array{string, string} */
    private function find(int $uid): ?array
    {
        if (!isset($this->known[$uid])) {
            $entry = \posix_getpwuid($uid);
            if ($entry === false) {
                return null;
            }
            $this->known[$uid] = [$entry['name'], \rtrim($entry['dir'], '/')];
        }

        return $this->known[$uid];
    }
}
