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

    /** Ids that systemd gives services for as long as they run (DynamicUser, systemd.exec(5)), whose directories stay. */
    private const DYNAMIC = [61_184, 65_519];

    /** @var list<array{int, int}> first and last of the ids that users' containers have */
    private array $subordinate = [];

    /** @var ?array<int, true> the users of all processes; null: they were not asked for yet */
    private ?array $running = null;

    public function __construct(private readonly string $file = '/etc/passwd', private readonly string $ranges = '/etc/subuid')
    {
        $this->read();
    }

    /** Forgets who was there: a new one may have come since. */
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
        $this->running = null;
        $this->subordinate = [];
        foreach (\explode("\n", (string) Quiet::call(fn(): string|false => \file_get_contents($this->ranges))) as $line) {
            // subuid(5)
            if (\preg_match('/^[^:]+:(\d{1,10}):(\d{1,10})$/D', $line, $range) === 1) {
                $this->subordinate[] = [(int) $range[1], (int) $range[1] + (int) $range[2] - 1];
            }
        }
    }

    /** @return array<int, true> */
    private static function running(): array
    {
        $running = [];
        foreach (\glob('/proc/[1-9]*/status') ?: [] as $status) {
            // proc(5): the real, effective, saved and file system's user. The process may have ended.
            if (\preg_match('/^Uid:((?:\s+\d+)+)$/m', (string) Quiet::call(static fn(): string|false => \file_get_contents($status)), $ids) === 1) {
                $running += \array_fill_keys(\array_map(\intval(...), \preg_split('/\s+/', \trim($ids[1])) ?: []), true);
            }
        }

        return $running;
    }

    /** Why an id without an account may be in use all the same: containers have their own accounts. Null: nothing tells. */
    public function use(int $uid): ?string
    {
        $this->running ??= self::running();
        if (isset($this->running[$uid])) {
            return 'a process runs as this user, perhaps in a container';
        }
        foreach ($this->subordinate as [$first, $last]) {
            if ($uid >= $first && $uid <= $last) {
                return "$this->ranges gives this id to containers";
            }
        }

        return $uid >= self::DYNAMIC[0] && $uid <= self::DYNAMIC[1] ? 'systemd gives this id to services' : null;
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
