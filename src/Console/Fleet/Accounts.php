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

    public function __construct(private readonly string $file = '/etc/passwd')
    {
        $this->read();
    }

    /** Forgets who was there: somebody may have come since. */
    public function read(): void
    {
        $this->known = $this->names = [];
        foreach (\explode("\n", (string) Quiet::call(fn(): string|false => \file_get_contents($this->file))) as $line) {
            $fields = \explode(':', $line);
            // passwd(5): several names may have one id.
            $uid = self::id($fields[2] ?? '');
            if (isset($fields[5]) && $uid !== null) {
                $this->known[$uid] ??= [$fields[0], \rtrim($fields[5], '/')];
            }
        }
    }

    /** @return ?int null: it is no user's id, or not as one is written */
    public static function id(string $digits): ?int
    {
        return \preg_match('/^(?:0|[1-9]\d{0,9})$/D', $digits) === 1 && self::isId((int) $digits) ? (int) $digits : null;
    }

    /** The last number of 32 bits is no id: to system calls it means "unchanged". */
    public static function isId(int $uid): bool
    {
        return $uid >= 0 && $uid < 0xffffffff;
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
