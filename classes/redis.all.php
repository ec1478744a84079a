<?php

declare(strict_types=1);

// Made by bin/classes from src/.

namespace Larder\Driver\Redis {
use Larder\System\Failure; use Larder\System\Process; use Larder\System\Quiet; 
abstract class RedisConnection { private const IDLE = 1_000_000_000; private static array $parents = []; private bool $open = false; private bool $busy = false; private int $number = 0; private int $process = 0; public int $used = 0; protected readonly int $timeout; protected int $until = 0; protected bool $isShort = false; private int $end = 0; private readonly bool $forks; final public function __construct(protected readonly Endpoint $endpoint) { $this->forks = Process::forks(); $this->timeout = (int) ($endpoint->timeout * 1e9); } final public function begin(): void { $this->end = (int) \hrtime(true) + $this->timeout; } final protected function left(): float { return \max(0.001, ($this->until - (int) \hrtime(true)) / 1e9); } private function start(): void { $now = (int) \hrtime(true); $this->until = $this->end > $now ? $this->end : $now + $this->timeout; $this->isShort = true; } abstract protected function open(): bool; abstract protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array; protected function exchangeOne(#[\SensitiveParameter] array $command): mixed { return $this->exchange([$command], 0)[0]; } abstract protected function release(): ?object; abstract protected function shut(object $handle): void; abstract protected function isFailure(\Throwable $e): bool; final public function ready(): int { if ($this->open && !$this->busy && \hrtime(true) - $this->used < self::IDLE && (!$this->forks || $this->process === Process::id())) { return $this->number; } if ($this->busy && $this->isOpen()) { $this->open = false; $this->release(); } elseif ($this->isOpen()) { if ($this->isAlive()) { return $this->number; } } elseif ($this->open) { self::$parents[] = $this->release(); $this->open = false; } $this->connect(); return $this->number; } final public function isOpen(): bool { return $this->open && $this->process === Process::id(); } final public function run(array $commands, int $attempts = 0): array { if (!$this->open || ($this->forks && $this->process !== Process::id())) { throw $this->failure('the connection was lost'); } $this->busy = true; Quiet::begin(); try { $this->start(); $replies = $attempts === 0 && \count($commands) === 1 ? [$this->exchangeOne($commands[0])] : $this->exchange($commands, $attempts); $this->used = (int) \hrtime(true); if ($this->used > $this->until + $this->timeout) { throw $this->late(); } } catch (\Throwable $e) { $this->close(); throw $this->isFailure($e) ? $this->translate('no answer', $e) : $e; } finally { Quiet::end(); } $this->busy = false; return $replies; } final public function ask(array $command, int $number, bool $begins = true): mixed { $now = (int) \hrtime(true); if ($this->number !== $number || !$this->open || $this->busy || $now - $this->used >= self::IDLE || ($this->forks && $this->process !== Process::id())) { return false; } $this->busy = true; Quiet::begin(); try { if ($begins) { $this->until = $this->end = $now + $this->timeout; } else { $this->start(); } $reply = $this->exchangeOne($command); if (\hrtime(true) > $this->until + $this->timeout) { throw $this->late(); } } catch (\Throwable $e) { $this->close(); throw $this->isFailure($e) ? $this->translate('no answer', $e) : $e; } finally { Quiet::end(); } $this->used = $now; $this->busy = false; return $reply; } final public function close(): void { if (!$this->open) { return; } $ours = $this->isOpen(); $this->open = false; $handle = $this->release(); if (!$ours) { self::$parents[] = $handle; } elseif ($handle !== null) { Quiet::begin(); try { $this->shut($handle); } catch (\Throwable $e) { if (!$this->isFailure($e)) { throw $e; } } finally { Quiet::end(); } } } final protected function closeIfCutOff(): void { \register_shutdown_function(function (): void { $this->busy && $this->close(); }); } private function late(): Failure { return $this->failure('no answer within ' . $this->endpoint->timeout . ' s'); } final public function failure(string $what, ?\Throwable $cause = null): Failure { $told = $cause === null ? '' : $cause->getMessage(); if ($told !== $this->endpoint->withoutPassword($told)) { $what .= ' (' . $told . ')'; $cause = null; } return Failure::because($this->name(), $this->endpoint->withoutPassword($what), $cause); } final public function refusal(string $error): Failure { $kind = \strstr($error . ' ', ' ', true); if ($kind === 'ERR' && \str_contains($error, 'unauthenticated')) { $kind = 'NOAUTH'; } if (\str_contains($error, 'unknown command')) { $error = \explode(', with args', $error)[0]; $kind = 'unknown'; } $advice = match ($kind) { 'NOAUTH', 'WRONGPASS' => '; give user and password in the DSN', 'unknown' => '; remove its rename-command from the server\'s configuration', 'NOPERM' => '; the ACL user needs ~<prefix>:* and +@read +@write +@scripting +@connection +info', 'READONLY' => '; this is a replica, name the primary instead', 'MISCONF' => '; the server cannot save to its disk', 'MOVED', 'ASK', 'CLUSTERDOWN', 'CROSSSLOT' => '; Redis Cluster is not supported', default => '', }; return ErrorReply::because($this->name(), $this->endpoint->withoutPassword('the server refused: ' . $error . $advice)); } private function name(): string { return 'Redis at ' . $this->endpoint->name(); } private function translate(string $what, \Throwable $e): Failure { return \preg_match('/^[A-Z]{2,} /', $e->getMessage()) === 1 ? $this->refusal($e->getMessage()) : $this->failure($what, $e); } private function connect(): void { $this->open = $this->busy = true; $this->process = Process::id(); Quiet::begin(); try { $this->start(); $greeting = $this->open() ? [] : $this->endpoint->greeting(); if ($greeting !== []) { $this->start(); $this->exchange($greeting, 0); } } catch (\Throwable $e) { $this->close(); $what = 'no connection' . ($this->endpoint->tls ? '; is its certificate valid for this name?' : ''); throw $this->isFailure($e) ? $this->translate($what, $e) : $e; } finally { Quiet::end(); } ++$this->number; $this->used = (int) \hrtime(true); $this->busy = false; } private function isAlive(): bool { $start = \hrtime(true); try { $this->run([['PING']]); return true; } catch (Failure $e) { if (\hrtime(true) - $start > $this->endpoint->timeout * 5e8) { throw $e; } return false; } } }
}
namespace Larder\Driver\Redis {

final class Endpoint { public function __construct( public readonly string $host = '127.0.0.1', public readonly int $port = 6379, public readonly ?string $socket = null, public readonly int $db = 0, public readonly ?string $user = null, #[\SensitiveParameter] public readonly ?string $password = null, public readonly bool $tls = false, public readonly float $timeout = 0.25, public readonly bool $isKept = false, ) {} public function name(): string { return ($this->socket ?? $this->host . ':' . $this->port) . ($this->db === 0 ? '' : ' db ' . $this->db); } public function withoutPassword(#[\SensitiveParameter] string $text): string { return $this->password === null ? $text : \str_replace($this->password, '***', $text); } public function __debugInfo(): array { return ['password' => $this->password === null ? null : '***'] + \get_object_vars($this); } public function greeting(): array { $commands = []; if ($this->password !== null) { $commands[] = $this->user === null ? ['AUTH', $this->password] : ['AUTH', $this->user, $this->password]; } if ($this->db !== 0) { $commands[] = ['SELECT', (string) $this->db]; } return $commands; } }
}
namespace Larder\Driver\Redis {
use Larder\System\Failure; use Larder\System\Process; 
final class PhpRedisConnection extends RedisConnection { private const FEW = 4; private ?\Redis $redis = null; private float $limit = 0.0; protected function open(): bool { if ($this->endpoint->isKept && Process::canKeep() && \filter_var(\ini_get('redis.pconnect.pooling_enabled'), \FILTER_VALIDATE_BOOL) && $this->takeOver()) { return true; } $redis = new \Redis(); $redis->connect(...$this->address(null)); $this->use($redis); return false; } private function takeOver(): bool { $redis = new \Redis(); $redis->pconnect(...$this->address('larder')); $this->use($redis); $this->closeIfCutOff(); $mark = \bin2hex(\random_bytes(8)); try { $redis->pipeline(); foreach ([['RESET'], ...$this->endpoint->greeting(), ['ECHO', $mark]] as $command) { $redis->rawCommand(...$command); } $replies = $redis->exec(); $isFit = \is_array($replies) && \end($replies) === $mark && !\in_array(false, $replies, true); } catch (\RedisException) { $isFit = false; } $isFit || $redis->close(); return $isFit; } private function address(?string $kept): array { $e = $this->endpoint; return [$e->socket ?? ($e->tls ? 'tls://' : '') . $e->host, $e->socket === null ? $e->port : 0, $this->left(), $kept, 0, $e->timeout]; } private function use(\Redis $redis): void { $redis->setOption(\Redis::OPT_MAX_RETRIES, 0); $redis->setOption(\Redis::OPT_TCP_KEEPALIVE, 1); $this->endpoint->isKept && $redis->setOption(\Redis::OPT_READ_TIMEOUT, $this->endpoint->timeout); $this->redis = $redis; $this->limit = $this->endpoint->timeout; } private function limit(\Redis $redis, int $replies): void { if ($replies > self::FEW) { $this->limit($redis, 1); if ($redis->rawCommand('PING') === false) { throw $this->failure('no answer in time'); } $replies = self::FEW; } $left = $this->left(); $whole = $this->endpoint->timeout; $limit = ($left > 0.9 * $whole ? $whole : $left) / $replies; if ($limit !== $this->limit) { $redis->setOption(\Redis::OPT_READ_TIMEOUT, $limit); $this->limit = $limit; } $this->isShort = $limit !== $whole; } protected function exchangeOne(#[\SensitiveParameter] array $command): mixed { $redis = $this->redis ?? throw $this->failure('not connected'); $this->isShort && $this->limit($redis, 1); $reply = $redis->rawCommand(...$command); return $reply === false ? $this->error($redis) : $reply; } protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array { $redis = $this->redis; if ($redis === null) { throw $this->failure('not connected'); } $this->limit($redis, \count($commands)); $redis->pipeline(); foreach ($commands as $command) { $redis->rawCommand(...$command); } try { $replies = $redis->exec(); } catch (\RedisException $e) { throw $attempts > 0 && \str_starts_with($e->getMessage(), 'OOM') ? new Refused($e->getMessage(), 0, $e) : $e; } if (!\is_array($replies) || \count($replies) !== \count($commands)) { throw $this->failure('the answer broke off'); } $replies = \array_values($replies); for ($i = 0; $i < $attempts; ++$i) { $replies[$i] = $replies[$i] === false ? null : $replies[$i]; } if (\in_array(false, $replies, true)) { $this->error($redis); foreach ($replies as $i => $reply) { $replies[$i] = $reply === false ? null : $reply; } } $attempts === 0 || $redis->clearLastError(); return $replies; } private function error(\Redis $redis): null { $error = (string) $redis->getLastError(); $redis->clearLastError(); return \str_starts_with($error, 'NOSCRIPT') ? null : throw $this->refusal($error); } protected function release(): ?object { $redis = $this->redis; $this->redis = null; return $redis; } protected function shut(object $handle): void { $handle instanceof \Redis && $handle->close(); } protected function isFailure(\Throwable $e): bool { return $e instanceof \RedisException && $e->getFile() === __FILE__; } }
}
namespace Larder\Store {

if (!\class_exists('larder\store\change', false)) {
final class Change { public const ALWAYS = \PHP_INT_MAX; public const HELD = 'i'; public const KEPT = ['i', 'm', 'c']; public string $key = ''; public ?string $body = null; public string $writer = ''; public int $limit = self::ALWAYS; public int $expiry = 0; public array $guards = []; public bool $logged = true; public string $kind = 's'; public bool $strict = false; public string $epoch = ''; public bool $atomic = false; public ?string $bounded = null; public int $payload = 0; public function __construct( string $key, ?string $body, string $writer, int $limit = self::ALWAYS, int $expiry = 0, array $guards = [], bool $logged = true, string $kind = 's', bool $strict = false, string $epoch = '', bool $atomic = false, ) { $this->key = $key; $this->body = $body; $this->writer = $writer; $this->limit = $limit; $this->expiry = $expiry; $this->guards = $guards; $this->logged = $logged; $this->kind = $kind; $this->strict = $strict; $this->epoch = $epoch; $this->atomic = $atomic; } public function isOf(string $epoch): bool { return $this->epoch === '' || $this->epoch === $epoch; } }
}
}
namespace Larder\Store {

if (!\class_exists('larder\store\changeresult', false)) {
final class ChangeResult { public const REFUSED = 'r'; public bool $done = false; public int $position = 0; public string $writer = ''; public int $previous = 0; public string $kind = ''; public ?Record $record = null; public ?string $guard = null; public int $step = 1; public function __construct(bool $done, int $position, string $writer = '', int $previous = 0, string $kind = '', ?Record $record = null, ?string $guard = null, int $step = 1) { $this->done = $done; $this->position = $position; $this->writer = $writer; $this->previous = $previous; $this->kind = $kind; $this->record = $record; $this->guard = $guard; $this->step = $step; } public static function refused(?Record $record = null): self { return new self(false, -1, kind: self::REFUSED, record: $record); } }
}
}
namespace Larder\Store {

if (!\class_exists('larder\store\record', false)) {
final class Record { public string $body = ''; public int $position = 0; public string $writer = ''; public function __construct(string $body, int $position, string $writer) { $this->body = $body; $this->position = $position; $this->writer = $writer; } }
}
}
namespace Larder\Store {
use Larder\Store\Journal\JournalSlice; use Larder\System\Failure; 
if (!\interface_exists('larder\store\store', false)) {
interface Store { public function since(string $epoch, int $position, string $token): JournalSlice; public function read(array $keys): Snapshot; public function write(array $changes): array; public function now(): int; public function forgets(): bool; public function tidy(): void; public function each(): iterable; public function stats(): array; }
}
}
namespace Larder\Store {
use Larder\System\Failure; 
if (!\interface_exists('larder\store\readsone', false)) {
interface ReadsOne extends Store { public function readOne(string $key): array|Snapshot; }
}
}
namespace Larder\Store\Redis {
use Larder\Driver\Redis\RedisConnection; use Larder\Driver\Redis\Refused; use Larder\Store\Change; use Larder\Store\ChangeResult; use Larder\Store\Journal\JournalSlice; use Larder\Store\Markers; use Larder\Store\ReadsOne; use Larder\Store\Record; use Larder\Store\Snapshot; use Larder\System\Clock; use Larder\System\Failure; 
final class RedisStore implements ReadsOne { private const ATTEMPTS = 3; private const LONGEST = 10_000_000_000_000; private const MARKER = 2_592_000_000; private const RENEWAL = 64; private const BATCH = 200; private const MANY = 1000; private const LARGE = 1000; private const COMPARED = 250_000; private const BUSY = 64; private const ROOM = '.............................................'; private const UNDER_WAY = '60000'; private readonly string $head; private readonly string $sweep; private readonly Script $open; private readonly Script $write; private int $connectionNumber = 0; private string $epoch = ''; private string $names = ''; private string $base = ''; private array $seen = [0, '']; private ?int $ahead = null; private array $markers = []; private int $compared = 0; private int $moving = 0; private int $nonce = 0; private array $guards = [[], '']; private string $sender = ''; private string $told = ''; private bool $unswept = false; public function __construct(private readonly RedisConnection $connection, private readonly string $prefix) { $this->head = $prefix . ':head'; $this->sweep = $prefix . ':sweep'; $this->open = Script::open(); $this->write = Script::write(); } public function since(string $epoch, int $position, string $token): JournalSlice { $this->connection->begin(); $reply = $this->open($epoch, $position, $token, []); $list = []; foreach (\is_array($reply[4]) ? $reply[4] : [] as $entry) { $change = self::change($entry); $list[] = [\substr($change, Script::HEADER + 12), (int) \substr($change, 0, 16), \substr($change, 32, 12), $change[44] ?? '']; } return new JournalSlice($this->told = $this->epoch, $this->seen[0], \substr($this->seen[1], 17), $reply[3] === 1, $list); } public function read(array $keys): Snapshot { $this->connection->begin(); return $this->snapshot($keys); } private function snapshot(array $keys): Snapshot { $beside = null; for ($attempt = 0; ($values = $this->fetch($keys)) === null; ++$attempt) { if ($attempt === self::ATTEMPTS) { throw $this->failure('its data are replaced again and again'); } if ($this->connection->ready() !== $this->connectionNumber) { $values = \array_slice($this->open('', 0, '', \count($keys) > self::MANY ? [] : $keys), 5); if (\count($values) > \count($keys) + 1) { $beside = \array_pop($values); break; } } } $records = []; foreach ($keys as $i => $key) { $value = $values[$i + 1] ?? null; if (\is_string($value) && ($length = \strlen($value)) >= Script::HEADER) { $records[$key] = new Record(\substr($value, Script::HEADER), (int) \substr($value, 0, 16), \substr($value, 32, 12)); if ($length === Script::HEADER + 1 && \count($this->markers) < 64) { $this->markers[$this->base . $key] = true; } } } if (!\is_array($beside)) { return new Snapshot($this->told = $this->epoch, $this->seen[0], $records); } $names = []; foreach (\array_chunk($beside, 2) as $pair) { [$name, $value] = $pair + [1 => null]; if (\is_string($name) && !isset($records[$name])) { $names[] = $name; if (\is_string($value) && \strlen($value) >= Script::HEADER) { $records[$name] = self::record($value); } } } return new Snapshot($this->told = $this->epoch, $this->seen[0], $records, $names); } public function readOne(string $key): array|Snapshot { $values = $this->moving > 0 ? false : $this->connection->ask(['MGET', $this->head, $this->base . $key], $this->connectionNumber); if (!\is_array($values) || !isset($values[0]) || !\is_string($values[0]) || !\str_starts_with($values[0], $this->seen[1])) { return $values === false ? $this->read([$key]) : $this->snapshot([$key]); } $this->compared = $this->connection->used; $this->told = $this->epoch; $value = $values[1] ?? null; return \is_string($value) && isset($value[Script::HEADER - 1]) ? [\substr($value, Script::HEADER), (int) \substr($value, 0, 16), $this->epoch] : [null, $this->seen[0], $this->epoch]; } public function write(array $changes): array { if (\count($changes) === 1) { $outcome = $this->put($changes[0]); return $outcome === null ? $this->apply($changes) : [$outcome]; } $outcomes = $some = []; foreach ($changes as $change) { if ($some !== [] && ($change->writer !== $some[0]->writer || \count($some) === self::BATCH)) { $outcomes[] = $this->apply($some); $some = []; } $some[] = $change; } $last = $this->apply($some); return $outcomes === [] ? $last : \array_merge(...$outcomes, ...[$last]); } public function now(): int { if ($this->ahead === null) { $this->connection->begin(); $this->ready(); } return Clock::now() + (int) $this->ahead; } public function forgets(): bool { return true; } public function tidy(): void { $markers = $this->markers; $this->markers = []; $renews = $markers !== [] && \random_int(1, self::RENEWAL) === 1; if ((!$this->unswept && !$renews) || !$this->connection->isOpen()) { return; } $this->connection->begin(); try { if ($renews) { $this->connection->run(\array_map(static fn(string $name): array => ['PEXPIRE', $name, (string) self::MARKER], \array_keys($markers))); } if (!$this->unswept) { return; } $pattern = self::quote($this->prefix) . ':' . \str_repeat('?', 16) . ':*'; $sweep = Script::sweep(); $this->unswept = $this->evaluate($sweep, ['EVALSHA', $sweep->sha, '2', $this->head, $this->sweep, $pattern, (string) \strlen($this->prefix)]) === 1; } catch (Failure) { $this->unswept = false; } } public function each(): iterable { $cursor = '0'; do { $this->connection->begin(); $this->ready(); $base = $this->base; [$page] = $this->connection->run([['SCAN', $cursor, 'MATCH', self::quote($base) . '*', 'COUNT', '500']]); if (!\is_array($page) || !\is_string($page[0] ?? null) || !\is_array($page[1] ?? null)) { throw $this->failure('SCAN was answered by something else'); } $cursor = $page[0]; $keys = []; foreach ($page[1] as $name) { if (\is_string($name)) { $keys[] = \substr($name, \strlen($base)); } } if ($keys !== []) { foreach ($this->read($keys)->records as $key => $record) { yield (string) $key => $record; } } } while ($cursor !== '0'); } public function stats(): array { $this->connection->begin(); $this->ready(); $stats = Script::stats(); $reply = $this->evaluate($stats, ['EVALSHA', $stats->sha, '0', $this->base]); [$entries, $bytes, $budget] = \is_array($reply) ? $reply + [0, 0, 0] : [0, 0, 0]; return [ 'engine' => 'redis', 'entries' => \is_int($entries) ? $entries : 0, 'bytes' => \is_int($bytes) ? $bytes : 0, 'budget' => \is_int($budget) ? $budget : 0, ]; } public function erase(): void { $this->connection->begin(); $this->connection->ready(); $cursor = '0'; do { $this->connection->begin(); $pattern = self::quote($this->prefix) . ':' . \str_repeat('?', 16) . ':*'; [$page] = $this->connection->run([['SCAN', $cursor, 'MATCH', $pattern, 'COUNT', '500']]); if (!\is_array($page) || !\is_string($page[0] ?? null) || !\is_array($page[1] ?? null)) { throw $this->failure('SCAN was answered by something else'); } $cursor = $page[0]; $own = []; foreach ($page[1] as $name) { if (\is_string($name) && \preg_match('/^[0-9a-f]{16}:([ij]$|[rt]:)/', \substr($name, \strlen($this->prefix) + 1)) === 1) { $own[] = $name; } } if ($own !== []) { $this->connection->run([['UNLINK', ...$own]]); } } while ($cursor !== '0'); $this->connection->run([['DEL', $this->head, $this->sweep]]); $this->connectionNumber = 0; } private function fetch(array $keys): ?array { $command = ['MGET', $this->head]; foreach ($keys as $key) { $command[] = $this->base . $key; } [$end, $seen] = $this->seen; $entry = null; if ($this->moving > 0 && $end > 0) { --$this->moving; if ($this->connection->ready() !== $this->connectionNumber) { return null; } [$values, $entry] = $this->connection->run([$command, $this->seeking($end)]); } else { $values = $this->connection->ask($command, $this->connectionNumber, false); } if ($values === false) { return null; } $head = \is_array($values) ? $values[0] ?? null : null; if (!\is_array($values) || !\is_string($head)) { $this->connectionNumber = 0; return null; } $now = (int) \hrtime(true); if (!\str_starts_with($head, $seen)) { $last = (int) \substr($head, 17, 16); $lost = !\str_starts_with($head, $this->epoch . ' ') || $last <= $end; if (!$lost && $end > 0 && $now - $this->compared > self::COMPARED) { $entry ??= $this->connection->run([$this->seeking($end)])[0]; $lost = \substr(self::change(\is_array($entry) ? $entry[0] ?? null : null), Script::HEADER, 12) !== \substr($seen, 34); } if ($lost) { $this->connectionNumber = 0; return null; } $this->seen = [$last, \substr($head, 0, 46)]; $this->moving = self::BUSY; } $this->compared = $now; return $values; } private function seeking(int $end): array { return ['XRANGE', $this->prefix . ':' . $this->epoch . ':j', (string) $end, (string) $end]; } private function put(Change $change): ?ChangeResult { $epoch = $this->epoch; [$end, $seen] = $this->seen; $body = $change->body; $limit = $change->limit; $key = $change->key; if ($this->told !== $epoch || $epoch === '' || ($change->epoch !== '' && $change->epoch !== $epoch) || !$change->logged || $change->strict || ($limit !== Change::ALWAYS && ($limit > $end || $limit < 0)) || $key[0] === 'f' || $key[0] === 't' || ($body !== null && ($body === '' || \in_array($body[0], Change::KEPT, true))) || (++$end & Script::TRIMMED - 1) === 0 || (($this->nonce + 1 & 15) === 0 && $change->guards !== [])) { return null; } $next = \str_pad((string) $end, 16, '0', \STR_PAD_LEFT); $at = self::limit($limit); $guards = ''; if ($change->guards !== []) { foreach ($change->guards as $position) { if ($position !== $limit) { return null; } } $markers = \array_keys($change->guards); if ($markers !== $this->guards[0]) { foreach ($markers as $marker) { if (!Markers::is((string) $marker)) { return null; } } $this->guards = [$markers, self::pack($markers)]; } $guards = \str_repeat($at, \count($markers)) . $this->guards[1]; } $nonce = \dechex(++$this->nonce); $mode = $limit === Change::ALWAYS && $change->kind === 's' ? 'B' : 'F'; $count = $guards === '' ? "\0\0" : \pack('n', \count($change->guards)); $expiry = $change->expiry; $isLarge = isset($body[self::LARGE - 1]); $place = $body === null ? "-$count " : ($isLarge ? '2' : '1') . $count . ($expiry === 0 ? '+' : '='); $command = ['EVALSHA', $this->write->sha, '1', $this->head, "$seen$next-$nonce", $this->names, "$mode$place$at$change->writer$change->kind$nonce$key"]; $underWay = $this->names . 't:' . $this->sender . $nonce; if ($body !== null) { $command[] = $isLarge ? $underWay : $body; $command[] = $expiry === 0 ? (string) self::LONGEST : (string) \max(1, \min($expiry, self::LONGEST)); } if ($guards !== '') { $command[] = $guards; } if ($isLarge) { $this->connection->begin(); if ($this->connection->ready() !== $this->connectionNumber) { return null; } try { $reply = $this->evaluate($this->write, $command, [['SET', $underWay, self::ROOM . $body, 'PX', self::UNDER_WAY]]); } catch (Refused) { return ChangeResult::refused(); } } else { $reply = $this->connection->ask($command, $this->connectionNumber); } if (\is_string($reply) && isset($reply[15]) && $reply[0] !== '+' && $reply[0] !== '-' && $reply[0] !== 'r') { $at = isset($reply[16]) ? \substr($reply, 0, 16) : $reply; $position = (int) $at; $this->seen = [$position, "$epoch $at-$nonce"]; return isset($reply[16]) ? new ChangeResult(true, $position, \substr($reply, 48, 12), (int) \substr($reply, 16, 16), isset($reply[16 + Script::HEADER]) ? $reply[60] : '') : new ChangeResult(true, $position); } if ($reply === false || $reply === null) { return null; } return $this->outcomes($reply, [$change], [0], $nonce)[0] ?? null; } private static function pack(array $keys): string { $packed = ''; foreach ($keys as $key) { $packed .= \substr(\pack('N', \strlen((string) $key)), 1) . $key; } return $packed; } private function apply(array $changes): array { $outcomes = []; $large = self::LARGE; $this->connection->begin(); for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) { if ($this->connectionNumber === 0) { $this->ready(); } $epoch = $this->epoch; $this->told === '' && $this->told = $epoch; $nonce = \dechex(++$this->nonce); $command = ['EVALSHA', $this->write->sha, '1', $this->head, $this->seen[1] . \sprintf('%016d-%s', $this->seen[0] + 1, $nonce), $this->names]; $bodies = $asked = []; foreach ($changes as $i => $change) { if (($change->epoch !== '' && $change->epoch !== $epoch) || ($this->told !== $epoch && ($change->limit !== Change::ALWAYS || $change->guards !== []))) { $outcomes[$i] = new ChangeResult(false, -1); continue; } $asked[] = $i; $body = $change->body; $place = '-'; $life = ' '; $until = ''; if ($body !== null) { $place = '1'; if ($change->expiry !== 0) { $life = '='; $until = (string) \max(1, \min($change->expiry, self::LONGEST)); } elseif ($body === '' || !\in_array($body[0], Change::KEPT, true)) { $life = '+'; $until = (string) self::LONGEST; } elseif ($body[0] !== Change::HELD) { $life = '+'; $until = (string) self::MARKER; } if (\strlen($body) >= $large) { $place = '2'; $key = $this->names . 't:' . $this->sender . $nonce . \count($bodies); $bodies[] = ['SET', $key, self::ROOM . $body, 'PX', self::UNDER_WAY]; $body = $key; } } $mode = $change->logged ? ($change->strict ? 's' : ($change->limit === Change::ALWAYS && $change->kind === 's' ? 'b' : '-')) : 'u'; $command[] = $mode . $place . \pack('n', \count($change->guards)) . $life . self::limit($change->limit) . $change->writer . $change->kind . $nonce . $change->key; if ($body !== null) { $command[] = $body; $command[] = $until; } if ($change->guards !== []) { $command[] = \implode('', \array_map(self::limit(...), $change->guards)) . self::pack(\array_keys($change->guards)); } } if ($asked === []) { break; } try { if ($bodies !== [] && \count($asked) > 1) { $this->ready(); $this->connection->run($bodies, \count($bodies)); $bodies = []; } $reply = $bodies === [] ? $this->connection->ask($command, $this->connectionNumber, false) : false; if ($reply === false) { $this->ready(); if ($this->epoch !== $epoch) { continue; } $reply = $this->evaluate($this->write, $command, $bodies); } elseif ($reply === null) { $reply = $this->evaluate($this->write, $command); } } catch (Refused) { if (\count($asked) > 1) { $large = \PHP_INT_MAX; continue; } $outcomes[$asked[0]] = ChangeResult::refused(); break; } $judged = $this->outcomes($reply, $changes, $asked, $nonce); if ($judged !== []) { $outcomes += $judged; break; } } if (\count($outcomes) !== \count($changes)) { throw $this->failure('its data are replaced again and again'); } if (\count($outcomes) > 1) { \ksort($outcomes); } return \array_values($outcomes); } private static function limit(int $limit): string { return $limit === Change::ALWAYS ? Script::LIMITLESS : \sprintf('%016d', $limit); } private function outcomes(mixed $reply, array $changes, array $asked, string $nonce): array { $conflicts = \is_array($reply) && \is_array($reply[1] ?? null) ? $reply[1] : []; $words = \is_array($reply) ? $reply[0] ?? '' : $reply; if (!\is_string($words) || \strlen($words) !== \count($asked) * 46) { $this->connectionNumber = 0; return []; } $outcomes = []; $end = 0; foreach ($asked as $n => $i) { $word = $asked === [0] ? $words : \substr($words, $n * 46, 46); if ($word[0] === '+') { $position = (int) \substr($word, 1, 16); if ($changes[$i]->logged) { $end = $position; } $previous = (int) \substr($word, 17, 16); $outcomes[$i] = new ChangeResult(true, $position, $previous === 0 ? '' : \substr($word, 33, 12), $previous, $word[45] === ' ' ? '' : $word[45]); } else { $outcomes[$i] = $word[0] === '-' ? self::conflict($changes[$i], \array_shift($conflicts)) : ChangeResult::refused(); } } if ($end > $this->seen[0]) { $this->seen = [$end, $this->epoch . ' ' . \str_pad((string) $end, 16, '0', \STR_PAD_LEFT) . '-' . $nonce]; } return $outcomes; } private function ready(): void { if ($this->connection->ready() !== $this->connectionNumber) { $this->open('', 0, '', []); } } private function open(string $epoch, int $position, string $token, array $keys): array { $number = $this->connection->ready(); $sent = Clock::now(); $reply = $this->evaluate($this->open, [ 'EVALSHA', $this->open->sha, '2', $this->head, $this->sweep, $this->prefix, \substr(\bin2hex(\random_bytes(3)), 1), $number === $this->connectionNumber ? '' : '1', $this->epoch, \substr($this->seen[1], 17), $epoch, (string) $position, $token, ...$keys, ]); if (!\is_array($reply) || !\is_string($reply[0] ?? null) || !\is_string($reply[1] ?? null) || !\is_int($reply[5] ?? null)) { throw $this->failure('a script was answered by something else'); } if ($this->epoch !== $reply[0]) { $this->seen = [0, '']; $this->epoch = $reply[0]; $this->names = $this->prefix . ':' . $this->epoch . ':'; $this->base = $this->names . 'r:'; } $this->seen = [(int) $reply[1], $reply[0] . ' ' . $reply[1]]; $this->compared = (int) \hrtime(true); $this->unswept = ($reply[2] ?? 0) === 1; $this->learnClock($reply[5], $sent, $number !== $this->connectionNumber); $this->nonce = \random_int(1 << 44, 14 << 44); $this->sender = \bin2hex(\random_bytes(8)); $this->connectionNumber = $number; return \array_values($reply); } private function learnClock(int $time, int $sent, bool $anew): void { $least = $time - Clock::now() - 1; $this->ahead = $this->ahead === null || $anew || $time + 1 - $sent < $this->ahead ? $least : \max($this->ahead, $least); } private static function conflict(Change $change, mixed $told): ChangeResult { [$position, $writer, $kind, $record, $guard] = (\is_array($told) ? $told : []) + [-1, '', '', null, 0]; return new ChangeResult( false, \is_int($position) ? $position : -1, writer: \is_string($writer) ? $writer : '', kind: \is_string($kind) ? $kind : '', record: \is_string($record) && \strlen($record) >= Script::HEADER ? self::record($record) : null, guard: \is_int($guard) && $guard > 0 ? (string) \array_keys($change->guards)[$guard - 1] : null, ); } private function evaluate(Script $script, array $command, array $before = []): mixed { $attempts = \count($before); $before[] = $command; $reply = $this->connection->run($before, $attempts)[$attempts]; return $reply ?? $this->connection->run([['EVAL', $script->lua, ...\array_slice($command, 2)]])[0]; } private function failure(string $what): Failure { return $this->connection->failure($what); } private static function record(string $value): Record { return new Record(\substr($value, Script::HEADER), (int) \substr($value, 0, 16), \substr($value, 32, 12)); } private static function change(mixed $entry): string { $fields = \is_array($entry) ? $entry[1] ?? null : null; $change = \is_array($fields) ? $fields[1] ?? null : null; return \is_string($change) ? $change : ''; } private static function quote(string $name): string { return \addcslashes($name, '\\*?[]'); } }
}
namespace Larder\Store\Redis {

final class Script { public const HEADER = 45; public const LIMITLESS = '9999999999999999'; public const TRIMMED = 256; private const OPEN = <<<'LUA'
        local epoch, n, nonce, run, data
        local head = redis.call('GET', KEYS[1])
        if head then
          epoch, n, nonce, run, data = string.match(head, '^(%x+) (%d+)%-(%x+) %d+ %d+ (%w*)%.(%w*) 3$')
          n = tonumber(n)
        end
        local time = redis.call('TIME')
        local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
        local lost, unsure = not epoch, false

        -- When an epoch began, by its name; 0 for a name that would be more than a day ahead.
        local function begun(e)
          local high, low = string.match(e, '^(%x%x%x%x%x)(%x%x%x%x%x%x)%x%x%x%x%x$')
          local at = high and tonumber(high, 16) * 16777216 + tonumber(low, 16) or 0
          return at < now + 86400000 and at or 0
        end

        -- Sets lost, or unsure, unless the end that a process has seen in an epoch is still in the journal.
        local function compare(e, known)
          if e ~= epoch then
            if begun(e) > begun(epoch or '') then lost = true end
            return
          end
          local at, was = string.match(known, '^(%d+)%-(%x+)$')
          local p = tonumber(at or 0)
          if p == n then
            if was and was ~= nonce then lost = true end
          elseif p > n then
            lost = true
          elseif p > 0 then
            local e = redis.call('XRANGE', ARGV[1] .. ':' .. epoch .. ':j', at, at)[1]
            if not e then unsure = true elseif string.sub(e[2][2], 46, 57) ~= was then lost = true end
          end
        end
        compare(ARGV[4], ARGV[5])
        compare(ARGV[6], ARGV[8])
        if epoch == ARGV[6] and tonumber(ARGV[7]) > n then lost = true end

        local function info(section)
          local text = redis.pcall('INFO', section)
          return type(text) == 'string' and text or ''
        end
        local function digits(text, name) return string.sub(string.match(text, name .. ':(%w+)') or '', 1, 20) end

        -- A replica that is made a primary gets another replication id, and remembers the former one. (A primary's id
        -- changes too, when its first replica connects, or an hour after the last one left: then it remembers none.)
        local replication = info('replication')
        local hereData = digits(replication, 'master_replid')
        if hereData ~= data and string.find(digits(replication, 'master_replid2'), '[^0]') then lost = true end
        if lost or unsure or ARGV[3] == '1' then
          local hereRun = digits(info('server'), 'run_id')
          if lost or (hereRun ~= '' and hereRun ~= run) then
            local start = math.max(now, begun(epoch or '') + 1, begun(ARGV[4]) + 1, begun(ARGV[6]) + 1)
            epoch = string.format('%05x%06x', math.floor(start / 16777216), start % 16777216) .. ARGV[2]
            n, nonce = 0, '000000000000'
            redis.call('DEL', KEYS[1])
            redis.call('SET', KEYS[1], string.format('%s %016d-%s %016d %016d ', epoch, n, nonce, n, n) .. hereRun .. '.' .. hereData .. ' 3')
            redis.call('SET', KEYS[2], '0')
            -- Longer than the fields of a list (hash-max-listpack-value): this hash soon has too many for one.
            redis.call('HSET', ARGV[1] .. ':' .. epoch .. ':i', '', string.rep('0', 32) .. string.rep('-', 48))
          end
        end
        local base = ARGV[1] .. ':' .. epoch .. ':'
        local complete, list = 0, {}
        if epoch == ARGV[6] then
          local from = tonumber(ARGV[7])
          if from == n then
            complete = 1
          elseif from < n and n - from < 12000 then
            list = redis.call('XRANGE', base .. 'j', string.format('%d', from + 1), string.format('%d', n))
            if #list == n - from then complete = 1 else list = {} end
          end
        end
        local reply = {epoch, string.format('%016d-', n) .. nonce, redis.call('EXISTS', KEYS[2]), complete, list, now}
        local size = 0
        for i = 9, #ARGV do size = size + redis.call('STRLEN', base .. 'r:' .. ARGV[i]) end
        if size < 131072 then
          -- Beside them the markers of their tags, so that nobody need ask again: name and record in turn. Where tags lie in
          -- a body, Codec\Entry says; a signature (Codec\Signer) has 17 bytes.
          local beside, seen = {}, {}
          for i = 9, #ARGV do
            local r = redis.call('GET', base .. 'r:' .. ARGV[i])
            reply[i - 2] = r
            local at = r and string.find(string.sub(r, 46, 46), '[bs]') and 63 or 46
            if r and string.sub(r, at, at) == 'w' then
              local high, low = string.byte(r, at + 33, at + 34)
              at = at + 35
              for tag = 1, math.min(low and high * 256 + low or 0, 1000) do
                high, low = string.byte(r, at, at + 1)
                if not low then break end
                local name = string.sub(r, at + 2, at + 1 + high * 256 + low)
                at = at + 2 + #name
                if string.sub(name, 1, 2) == 't:' and not seen[name] and #beside < 4000 then
                  seen[name] = true
                  beside[#beside + 1] = name
                  beside[#beside + 1] = redis.call('GET', base .. 'r:' .. name)
                end
              end
            end
          end
          reply[#ARGV - 1] = beside
        end
        return reply
        LUA;
private const WRITE = <<<'LUA'
        local call, sub, byte, head, meta, base = redis.call, string.sub, string.byte, redis.call('GET', KEYS[1]), ARGV[1], ARGV[2]
        if not head then return '' end
        local stream, index, stood, n, begun = base .. 'j', base .. 'i', sub(head, 1, 46), sub(meta, 47, 62), nil
        if stood ~= sub(meta, 1, 46) then
          -- Others have moved the end. The one that this store has seen must still be in the journal.
          local seen = sub(meta, 18, 33)
          begun = tonumber(sub(head, 18, 33))
          if sub(head, 1, 17) ~= sub(meta, 1, 17) or tonumber(seen) >= begun then return '' end
          if tonumber(seen) > 0 then
            local e = call('XRANGE', stream, seen, seen)[1]
            if not e or sub(e[2][2], 46, 57) ~= sub(meta, 35, 46) then return '' end
          end
          n = string.format('%016d', begun + 1)
        end
        local spec = ARGV[3]
        local mode = byte(spec)

        -- The short way of one change that nothing is in the way of. Whatever it does not expect, the long way decides.
        if (mode == 70 or mode == 66) and not (begun and (begun + 1) % 256 == 0) then
          local place, life = byte(spec, 2), byte(spec, 5)
          local limit, key = mode == 70 and sub(spec, 6, 21), sub(spec, 47)
          local record, last, other = base .. 'r:' .. key, nil, nil
          if not limit or sub(head, 65, 80) <= limit then
            last = call('GETRANGE', record, '0', '45')
            if #last >= 45 then
              if byte(last, 46) == 105 then last = false end
            elseif not limit then
              other = sub(stood, 18, 33)
            else
              last = call('HGET', index, key) or call('HGET', index, '')
            end
            if last and not other then
              other = sub(last, 33, 44) == sub(spec, 22, 33) and sub(last, 17, 32) or sub(last, 1, 16)
            end
          end
          if other and (not limit or other <= limit) and (place ~= 50 or call('STRLEN', ARGV[4]) >= 45) then
            local entry, next = n .. other .. sub(spec, 22), begun and n .. sub(meta, 63, 75) or sub(meta, 47, 75)
            local header = sub(entry, 1, 45)
            if type(redis.pcall('SETRANGE', KEYS[1], '17', next)) ~= 'table' then
              if type(redis.pcall('XADD', stream, n, '', entry)) == 'table' then
                -- The journal was damaged: nothing of this epoch can be trusted.
                call('DEL', KEYS[1])
                return ''
              end
              call('HSET', index, key, header)
              if place == 45 then
                call('DEL', record)
              elseif place == 50 then
                call('SETRANGE', ARGV[4], '0', header)
                call('RENAME', ARGV[4], record)
                call(life == 43 and 'PEXPIRE' or 'PEXPIREAT', record, ARGV[5])
              elseif life == 43 then
                call('SET', record, header .. ARGV[4], 'PX', ARGV[5])
              elseif redis.REDIS_VERSION_NUM then
                -- Scripts know the version from 7.0 on, and PXAT is as old as 6.2.
                call('SET', record, header .. ARGV[4], 'PXAT', ARGV[5])
              else
                call('SET', record, header .. ARGV[4])
                call('PEXPIREAT', record, ARGV[5])
              end
              -- Longer is only what may have been.
              return #last < 47 and n .. last or n
            end
          end
        end

        local pcall, format, nonce, records = redis.pcall, string.format, sub(meta, 64, 75), base .. 'r:'
        begun = begun or tonumber(sub(head, 18, 33))
        local v, marked, floor, ends, fresh, gone, told, conflicts, todo, count, litter, markers
        local full = false
        repeat
          n, v, marked, ends, fresh, gone, told, conflicts, todo, count, litter, markers = begun, nil, nil, nil, nil, nil, {}, nil, nil, 0, nil, nil
          local a = 3
          spec = ARGV[a]
          while spec do
            local mode, place, high, low = byte(spec, 1, 4)
            local blind = mode == 98 or mode == 66
            local writer, kind, key, limit = sub(spec, 22, 33), sub(spec, 34, 34), sub(spec, 47), tonumber(sub(spec, 6, 21))
            local body, finish, own, guards, packed, from = nil, nil, mode == 115 or mode == 117, high * 256 + low, nil, nil
            if place ~= 45 then
              body, finish = ARGV[a + 1], ARGV[a + 2]
              a = a + 2
            end
            if guards > 0 then
              a = a + 1
              packed, from = ARGV[a], guards * 16 + 1
            end
            local strict, at, was, other, is, known, p, pw, pt, guard = own, nil, nil, nil, nil, nil, nil, nil, nil, nil
            -- The key, then its guards.
            for g = 0, guards do
              local name = key
              if g > 0 then
                local h1, h2, h3 = byte(packed, from, from + 2)
                local to = from + 2 + h1 * 65536 + h2 * 256 + h3
                name, limit, own, from = sub(packed, from + 3, to), tonumber(sub(packed, g * 16 - 15, g * 16)), false, to + 1
              end
              -- h: the header of the last change; if that is not known, of the last one that may have been.
              local h, there, sure = fresh and fresh[name], true, true
              if h then
                there = not gone[name]
              else
                -- Texts, since the server prints a Lua number by way of a float.
                h = call('GETRANGE', records .. name, '0', '45')
                there = #h >= 45
                if not there and g == 0 and mode == 117 then
                  h, sure = '0000000000000000', false
                elseif not there and (g > 0 or not blind) then
                  h = call('HGET', index, name)
                  if not h then
                    floor, sure = call('HGET', index, ''), false
                    h = floor or sub(head, 18, 33)
                  end
                end
              end
              if not there and g == 0 and blind then h, sure = format('%016d', n), false end
              local position, by = sub(h, 1, 16), sub(h, 33, 44)
              local before = by == writer and sub(h, 17, 32) or position
              if g == 0 then at, was, other, is, known = position, h, before, there, sure end
              if p then
                break
              elseif g == 0 and not own and there and byte(h, 46) == 105 then
                p, pw, pt = tonumber(position), by, sub(h, 45, 45)
              elseif tonumber(own and position or before) > limit then
                p, pw, pt, guard = -1, '', '', g
                if sure and (own or by ~= writer) then
                  p, pw, pt = tonumber(position), by, sub(h, 45, 45)
                elseif sure then
                  -- One before the writer's own; or of another key, if nobody looked for it.
                  local e = call('XRANGE', stream, before, before)[1]
                  if e and sub(e[2][2], 58) == name then p, pw, pt = tonumber(before), sub(e[2][2], 33, 44), sub(e[2][2], 45, 45) end
                end
              elseif g == 0 and limit > n and mode ~= 117 and limit ~= 9999999999999999 then
                p, pw, pt = -1, '', ''
              elseif g > 0 and there and byte(nonce, -1) == 48 and string.find(h, '^[mc]', 46) then
                markers = markers or {}
                markers[#markers + 1] = records .. name
              end
            end
            own = strict
            if not p and full and place ~= 45 and not (place == 49 and (mode == 117 or string.find(body, '^[imc]'))) then
              -- The server is full. Remove the old record too, unless it must stay for the next try (a counter, a lock).
              -- Records that say which values must not be served (removals, markers, intents) are never refused, nor are
              -- leases, which are short and expire.
              kind, place = 'x', own and 0 or 45
            elseif not p and place == 50 and call('STRLEN', body) < 45 then
              -- The server refused the body's SET, or evicted it at once: treat the record the same way.
              if own then p, pw, pt = -1, '', '' else place = 45 end
            end
            if p then
              told[#told + 1] = '-' .. string.rep(' ', 45)
              conflicts, litter = conflicts or {}, litter or {}
              local made = fresh and fresh[key]
              conflicts[#conflicts + 1] = {p, pw, pt, not made and call('GET', records .. key), guard or 0, made and records .. key}
              if place == 50 then litter[#litter + 1] = body end
            elseif place == 0 then
              told[#told + 1] = 'r' .. string.rep(' ', 45)
            else
              local position
              if mode == 117 then
                -- Not below the journal's end, so that a guard's limit means about the same for records of both sorts.
                v = math.max(v or tonumber(sub(head, 48, 63)), n) + 1
                position = format('%016d', v)
              else
                n = n + 1
                position = format('%016d', n)
                ends = position
                if string.find(key, '^[ft]:') then marked = position end
              end
              local header = position .. other .. writer .. kind
              if todo then
                todo[count + 1], todo[count + 2], todo[count + 3], todo[count + 4] = key, place, header, body or ''
                todo[count + 5], todo[count + 6], todo[count + 7] = byte(spec, 5), finish or '', mode
              else
                todo = {key, place, header, body or '', byte(spec, 5), finish or '', mode}
              end
              count = count + 7
              told[#told + 1] = (kind == 'x' and full and body and 'r' or '+') .. position
                .. (known and at .. sub(was, 33, 44) .. (is and sub(was, 45, 45) or ' ') or '0000000000000000             ')
              if ARGV[a + 1] then
                fresh, gone = fresh or {}, gone or {}
                fresh[key] = header .. (place == 49 and sub(body, 1, 1) or place == 50 and call('GETRANGE', body, '45', '45') or '')
                gone[key] = place == 45
              end
            end
            a = a + 1
            spec = ARGV[a]
          end
          if count == 0 then break end
          -- The server checks its memory at a script's first write only (script.c, scriptVerifyOOM), and never for DEL.
          for t = 1, full and count or 0, 7 do call('DEL', records .. todo[t]) end
          local done = pcall('SETRANGE', KEYS[1], '17', (ends and ends .. '-' .. nonce or sub(head, 18, 46))
            .. (v and format(' %016d', v) or sub(head, 47, 63)) .. (marked and ' ' .. marked or ''))
          local again = type(done) == 'table'
          if again then
            if full or not string.find(done.err, 'OOM', 1, true) then return done end
            full = true
          end
        until not again

        if n > begun then
          local fields = count > 7 and {}
          for t = 1, count, 7 do
            if todo[t + 6] ~= 117 then
              local header, key = todo[t + 2], todo[t]
              local logged = pcall('XADD', stream, sub(header, 1, 16), '', header .. nonce .. key)
              if type(logged) == 'table' then
                -- The journal was damaged: nothing of this epoch can be trusted.
                call('DEL', KEYS[1])
                return ''
              end
              if fields then fields[#fields + 1], fields[#fields + 2] = key, header end
            end
          end
          if fields then call('HSET', index, unpack(fields)) else call('HSET', index, todo[1], todo[3]) end
          -- The index was lost: all that it has now came later.
          if floor == false then call('HSET', index, '', format('%016d%016d', begun, begun) .. string.rep('-', 48)) end
          -- Every 256 changes the index forgets those that are older than the last 10,000, and the journal those before them.
          if n > 10000 and math.floor(n / 256) > math.floor(begun / 256) then
            local known = call('HGET', index, '') or ''
            local from, by, low = tonumber(sub(known, 1, 16)) or 0, sub(known, 33, 44), n - 10000
            local list = known ~= '' and from < low and call('XRANGE', stream, format('%d', from + 1), format('%d', low)) or {}
            if from < low and #list == low - from then
              -- The newest change that the index forgets, and the newest of them that is not by the same writer, whose own
              -- changes do not count against it.
              local before, other, keys, old = sub(known, 1, 16), sub(known, 17, 32), {}, {}
              for i, e in ipairs(list) do
                e = e[2][2]
                if sub(e, 33, 44) ~= by then by, other = sub(e, 33, 44), before end
                before, keys[i] = sub(e, 1, 16), sub(e, 58)
              end
              for i, header in ipairs(call('HMGET', index, unpack(keys))) do
                if header and tonumber(sub(header, 1, 16)) <= low then old[#old + 1] = keys[i] end
              end
              if #old > 0 then call('HDEL', index, unpack(old)) end
              call('HSET', index, '', before .. other .. by .. string.rep('-', 36))
            elseif from < low then
              -- The journal was damaged, or the index lost.
              call('DEL', index)
            end
            call('XTRIM', stream, 'MAXLEN', '~', '10400')
          end
        end
        for t = 1, count, 7 do
          local record, place, body, life, finish = records .. todo[t], todo[t + 1], todo[t + 3], todo[t + 4], todo[t + 5]
          if place == 45 then
            call('DEL', record)
          elseif place == 50 then
            call('SETRANGE', body, '0', todo[t + 2])
            call('RENAME', body, record)
            if life == 43 then call('PEXPIRE', record, finish) elseif life == 61 then call('PEXPIREAT', record, finish) else call('PERSIST', record) end
          elseif life == 43 then
            call('SET', record, todo[t + 2] .. body, 'PX', finish)
          else
            call('SET', record, todo[t + 2] .. body)
            if life == 61 then call('PEXPIREAT', record, finish) end
          end
        end
        -- A marker expires long after its last use. One call in sixteen sees to that.
        for _, marker in ipairs(markers or {}) do
          if call('PTTL', marker) < 1296000000 then call('PEXPIRE', marker, '2592000000') end
        end
        local words = told[2] and table.concat(told) or told[1]
        if not conflicts then return words end
        for _, body in ipairs(litter) do call('UNLINK', body) end
        for _, c in ipairs(conflicts) do
          -- A record that this call has made.
          if c[6] then c[4] = call('GET', c[6]) end
        end
        return {words, conflicts}
        LUA;
private const SWEEP = <<<'LUA'
        local cursor = redis.call('GET', KEYS[2])
        local epoch = string.match(redis.call('GET', KEYS[1]) or '', '^%x+')
        if not cursor or not epoch then return 0 end
        local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 500)
        local from = tonumber(ARGV[2]) + 2
        for _, key in ipairs(page[2]) do
          local theirs, rest = string.sub(key, from, from + 15), string.sub(key, from + 17)
          -- Another cache's longer prefix may look like this prefix with an epoch; the rest of the name tells.
          if theirs ~= epoch and string.match(theirs, '^%x+$')
            and (string.match(rest, '^[ij]$') or string.match(rest, '^[rt]:')) then redis.call('UNLINK', key) end
        end
        redis.call('DEL', KEYS[2])
        if page[1] == '0' then return 0 end
        redis.call('SET', KEYS[2], page[1])
        return 1
        LUA;
private const STATS = <<<'LUA'
        local page = redis.call('SCAN', '0', 'COUNT', 1000)
        local own, bytes, weighed = 0, 0, 0
        for _, key in ipairs(page[2]) do
          if string.sub(key, 1, #ARGV[1]) == ARGV[1] then
            own = own + 1
            if weighed < 100 then
              local size = redis.pcall('MEMORY', 'USAGE', key)
              if type(size) ~= 'number' then size = redis.call('STRLEN', key) end
              bytes, weighed = bytes + size, weighed + 1
            end
          end
        end
        local entries = own
        if page[1] ~= '0' and own > 0 then
          entries = math.floor(redis.call('DBSIZE') * own / #page[2] + 0.5)
        end
        local info = redis.pcall('INFO', 'memory')
        local most = type(info) == 'string' and string.match(info, 'maxmemory:(%d+)')
        return {entries, math.floor(weighed > 0 and bytes / weighed * entries or 0), tonumber(most or 0)}
        LUA;
private const OPEN_HASH = 'd66877211f596aa3af8292a9f5460b12d49e1a33'; private const WRITE_HASH = 'd3d353abcda3aeb6f2a0b9ad2df4c2ce18a0b5d4'; private function __construct(public readonly string $lua, public readonly string $sha) {} public static function open(): self { return new self(self::OPEN, self::OPEN_HASH); } public static function write(): self { return new self(self::WRITE, self::WRITE_HASH); } public static function sweep(): self { return new self(self::SWEEP, \sha1(self::SWEEP)); } public static function stats(): self { return new self(self::STATS, \sha1(self::STATS)); } }
}
namespace Larder\Store {

if (!\class_exists('larder\store\snapshot', false)) {
final class Snapshot { public string $epoch = ''; public int $at = 0; public array $records = []; public array $beside = []; public function __construct(string $epoch, int $at, array $records, array $beside = []) { $this->epoch = $epoch; $this->at = $at; $this->records = $records; $this->beside = $beside; } }
}
}
namespace Larder\System {

if (!\class_exists('larder\system\filelock', false)) {
final class FileLock { private mixed $handle = null; private int $pid = 0; private int $inode = 0; private int $opened = 0; private bool $isRestored = false; public function __construct( private readonly string $engine, private readonly string $path, private readonly float $timeout, ) {} public static function file(string $path) { if (Ownership::flaw($path) !== null) { return null; } Quiet::begin(); $old = \function_exists('umask') ? \umask(0o077) : null; try { $handle = \fopen($path, 'c+e'); return $handle === false ? null : $handle; } finally { $old === null || \umask($old); Quiet::end(); } } public static function take($handle, float $seconds): bool { $backoff = null; while (!\flock($handle, \LOCK_EX | \LOCK_NB)) { if ($seconds <= 0.0 || !($backoff ??= new Backoff($seconds))->wait()) { return false; } } return true; } public function handle(): mixed { if ($this->handle !== null && $this->pid === Process::id()) { \clearstatcache(); if (\fileinode($this->path) === $this->inode) { return $this->handle; } } return $this->open(); } public function opened(): int { return $this->opened; } public function inode(): int { return $this->inode; } public function isRestored(): bool { if ($this->isRestored && $this->handle !== null) { $this->isRestored = self::isSetBack(\fstat($this->handle)); } return $this->isRestored; } private static function isSetBack(array|false $stat): bool { return $stat !== false && $stat['ctime'] - $stat['mtime'] > 1; } public function exclusive(): mixed { $backoff = null; while (($handle = $this->try()) === null) { $backoff ??= new Backoff($this->timeout); if (!$backoff->wait()) { throw Failure::because($this->engine, "another process has held the lock {$this->path} for {$this->timeout} s"); } } return $handle; } public function try(): mixed { LockHolders::add($this->engine, $this->path, $this); $held = false; try { $handle = $this->handle(); if (!\flock($handle, \LOCK_EX | \LOCK_NB, $wouldBlock)) { if ($wouldBlock !== 1) { throw Failure::because($this->engine, "the file system of {$this->path} does not support locks; use a local one"); } return null; } if ($this->handle() !== $handle) { \flock($handle, \LOCK_UN); return null; } $held = true; return $handle; } finally { $held || LockHolders::remove($this->path, $this); } } public function release(): void { if ($this->handle !== null && $this->pid === Process::id()) { \flock($this->handle, \LOCK_UN); } LockHolders::remove($this->path, $this); } private function open(): mixed { $this->handle = null; $directory = \dirname($this->path); if (!\is_dir($directory)) { PrivateDirectory::make($directory); } $flaw = Ownership::flaw($this->path); if ($flaw !== null) { throw Failure::because($this->engine, $flaw); } $handle = \fopen($this->path, 'c+e'); if ($handle === false) { throw Failure::because($this->engine, "cannot open {$this->path} (" . Quiet::$reason . "); make its directory writable for the user who runs this, or name another one"); } $stat = \fstat($handle); if ($stat === false || (($stat['mode'] & 0777) !== 0600 && !\chmod($this->path, 0600))) { throw Failure::because($this->engine, "{$this->path} belongs to another user; use a directory of this user's own"); } \stream_set_read_buffer($handle, 0); $this->handle = $handle; $this->pid = Process::id(); $this->inode = $stat['ino']; $this->isRestored = self::isSetBack($stat); $this->opened++; return $handle; } }
}
}
namespace Larder\System {

final class StaticCopies { private const PATIENCE = 5.0; public readonly string $state; private ?array $about = null; public function __construct(public readonly string $directory) { $this->state = "$directory/state"; } public static function noted(string $notes): array { \clearstatcache(); return \is_file($notes) ? \explode("\n", \rtrim((string) \file_get_contents($notes))) : []; } public function note(string $notes): void { if (!\in_array($this->directory, self::noted($notes), true)) { \file_put_contents($notes, "$this->directory\n", \FILE_APPEND); } } public static function flushed(string $notes, array $flushes): void { Quiet::call(static function () use ($notes, $flushes): void { foreach (self::noted($notes) as $directory) { $mirror = new self($directory); if ($mirror->exists() && \array_intersect($mirror->about()[3], $flushes) !== []) { $lock = $mirror->lock(); $mirror->clear(); $lock === null || \fclose($lock); } } }); } public function exists(): bool { return \is_file("$this->state/cache"); } public function about(): array { return $this->about ??= \json_decode((string) \file_get_contents("$this->state/cache"), true, flags: \JSON_THROW_ON_ERROR); } public function lock(float $seconds = self::PATIENCE): mixed { $lock = FileLock::file("$this->state/lock"); return $lock !== null && FileLock::take($lock, $seconds) ? $lock : null; } public function folders(): array { return \array_values(\array_filter(\scandir($this->directory) ?: [], static fn(string $name): bool => \preg_match('/^[0-9]+$/D', $name) === 1)); } public function clear(): void { \array_map($this->discard(...), $this->folders()); self::sync($this->directory); } public function discard(string $folder): void { \rename("$this->directory/$folder", "$this->state/trash-" . \bin2hex(\random_bytes(8))); } public static function sync(string $directory): void { $handle = \fopen($directory, 're'); if ($handle !== false) { \fsync($handle); \fclose($handle); } } }
}
namespace Larder\Request {
use Larder\Store\Change; use Larder\Store\Record; use Larder\System\ProcessId; 
if (!\class_exists('larder\request\leases', false)) {
final class Leases { private const CHAIN = 16; private array $held = []; private static array $holders = []; public function __construct( private readonly Truth $truth, public readonly RequestHistory $history, private readonly string $writer, ) {} public function takeUnchanged(string $key, int $milliseconds, int $position): bool { $outcome = $this->truth->write([$this->change($key, $milliseconds, '', 0, [$key => $position])])[0] ?? null; if ($outcome === null || !$outcome->done) { return false; } $this->note($key, $outcome->position); return true; } public function take(string $key, int $milliseconds): ?bool { $version = 0; for ($try = 0; $try < 2; $try++) { $outcomes = $this->truth->write([$this->change($key, $milliseconds, '', $version)]); if ($outcomes === null) { return null; } if ($outcomes[0]->done) { $this->note($key, $outcomes[0]->position); return true; } $record = $outcomes[0]->record; if ($record !== null && $this->stands($record)) { return false; } $version = $record->position ?? \max(0, $outcomes[0]->position); } return false; } private function note(string $key, int $version): void { $this->held[$key] = $version; self::$holders[$this->writer] = [\WeakReference::create($this), ProcessId::current()]; } public function renews(string $key, int $milliseconds): bool { return isset($this->held[$key]) || $this->take($key, $milliseconds) === true; } public function holds(string $key): bool { return isset($this->held[$key]); } public function holdsAny(): bool { return self::$holders !== [] && self::here() !== []; } private static function here(): array { $here = []; foreach (self::$holders as $writer => [$reference, $process]) { $leases = $process === ProcessId::current() ? $reference->get() : null; if ($leases === null) { unset(self::$holders[$writer]); } else { $here[$writer] = $leases; } } return $here; } public function release(string $key): ?Change { if (!isset($this->held[$key])) { return null; } $version = $this->held[$key]; unset($this->held[$key]); if ($this->held === []) { unset(self::$holders[$this->writer]); } return new Change(Space::lease($key), null, $this->writer, $version, logged: false, strict: true, epoch: $this->history->epoch); } public static function kept(Change $release): array { return \str_starts_with($release->key, 'l:') ? [$release->key] : []; } public function giveBack(string $key): void { $change = $this->release($key); if ($change !== null) { $this->truth->write([$change], self::kept($change)); } } public function releaseAll(): array { $changes = []; foreach (\array_keys($this->held) as $key) { $change = $this->release($key); if ($change !== null) { $changes[] = $change; } } return $changes; } public function forget(): void { $this->held = []; unset(self::$holders[$this->writer]); } public function stands(Record $record): bool { $parts = \explode(' ', \substr($record->body, 1), 3); return \count($parts) === 3 && (int) $parts[0] > $this->truth->now() && !ProcessId::isKnownDead($parts[1]); } public function waitFor(string $key, int $milliseconds): void { foreach (self::here() as $leases) { $leases->say($key, $milliseconds); } } private function say(string $key, int $milliseconds): void { foreach ($this->held as $mine => $version) { $outcomes = $this->truth->write([$this->change($mine, $milliseconds, $key, $version)]); if ($outcomes !== null && $outcomes[0]->done) { $this->held[$mine] = $outcomes[0]->position; } } } public function wouldDeadlock(string $key): bool { $here = self::here(); for ($i = 0; $i < self::CHAIN && $key !== ''; $i++) { if (isset($this->held[$key])) { return true; } $lease = Space::lease($key); $record = $this->truth->read([$lease])?->records[$lease] ?? null; [, $process, $key] = \explode(' ', $record->body ?? '', 3) + ['', '', '']; if ($record !== null && isset($here[$record->writer]) && $process === ProcessId::current()) { return true; } } return false; } private function change(string $key, int $milliseconds, string $waits, int $version, array $guards = []): Change { $deadline = $this->truth->now() + $milliseconds; return new Change( Space::lease($key), 'l' . $deadline . ' ' . ProcessId::current() . ' ' . $waits, $this->writer, $version, $deadline, $guards, logged: false, strict: true, epoch: $this->history->epoch, ); } }
}
}
namespace Larder\Request {
use Larder\Codec\Entry; use Larder\Codec\EntrySigner; use Larder\Near\Near; use Larder\Store\Record; use Larder\Store\Snapshot; 
if (!\class_exists('larder\request\reader', false)) {
final class Reader { private const SAMPLE = 8; public int $nearHits = 0; public int $nearMisses = 0; private readonly RequestHistory $history; private readonly bool $isUnsigned; private readonly ?Near $near; public function __construct( private readonly View $view, private readonly Truth $truth, public readonly EntrySigner $signer, private readonly Leases $leases, ) { $this->history = $view->history; $this->near = $view->near; $this->isUnsigned = !$signer->signs(); } public function fetch(string $key, Space $space): ?Entry { $snapshot = $this->readBeside(null, [$key], [$space]); return $snapshot === null ? null : $this->judgeRecord($key, $snapshot->records[$key] ?? null, $snapshot, $space); } public function value(string $key, string $name, Space $space, RequestTier $copies, mixed &$found): mixed { $found = false; $history = $this->history; $snapshot = null; $view = $this->view; $floor = $this->near === null && $view->isBegun ? $view->floors[$space->path] ?? ($this->truth->appends() ? $view->floor($space) : null) : null; if ($floor !== null) { $answer = $this->truth->readOne($name); if ($answer === null) { $history->unanswered($name); return null; } if (\is_array($answer)) { [$body, $position, $epoch] = $answer; } else { $snapshot = $answer; $record = $answer->records[$name] ?? null; $body = $record?->body; $position = $record->position ?? $answer->at; $epoch = $answer->epoch; } if ($body === null && $epoch === $history->epoch) { $this->truth->misses++; $history->miss($name, $position); return null; } $plain = $body === null || $this->isUnsigned ? $body : $this->signer->unseal($name, $body); if (isset($plain[Entry::PLAIN]) && $position > $floor && $epoch === $history->epoch) { $left = 0; $at = $plain[0] === 'v' ? Entry::PLAIN : ($plain[0] === 'w' ? Entry::timed($plain, $this->truth->now(), $left) : 0); $entry = $at === 0 ? Entry::fromBody($plain) : null; if ($at !== 0 || ($entry !== null && $entry->sure === 0 && $this->good($entry, $position, $space) && $epoch === $history->epoch)) { $this->truth->hits++; $position > $history->start && $history->hit($name, $position, false); return $entry === null ? $copies->putBody($key, $plain, $at, $left, $found) : $copies->put($key, $entry, $found); } } } if ($snapshot === null || $snapshot->epoch !== $history->epoch) { $snapshot = $this->readBeside(null, [$name], [$space]); $snapshot === null ? $history->unanswered($name) : $this->view->floor($space); } $entry = $snapshot === null ? null : $this->judgeRecord($name, $snapshot->records[$name] ?? null, $snapshot, $space); return $entry === null ? null : $copies->put($key, $entry, $found); } public function values(array $names, Space $space, RequestTier $copies): array { $history = $this->history; $snapshot = $this->read(\array_values($names), $space); if ($snapshot === null) { foreach ($names as $name) { $history->unanswered($name); } return []; } $isQuick = $this->near === null && $this->isUnsigned; $floor = $this->view->floor($space); $now = $this->truth->now(); $values = $others = $tags = []; $found = false; $left = 0; foreach ($names as $key => $name) { $record = $snapshot->records[$name] ?? null; $body = $record->body ?? ''; $at = 0; if ($isQuick && $record !== null && $record->position > $floor && isset($body[Entry::PLAIN]) && $snapshot->epoch === $history->epoch) { $left = 0; $at = $body[0] === 'v' ? Entry::PLAIN : Entry::timed($body, $now, $left); } if ($record === null || $at === 0) { $others[$key] = $name; foreach ($record === null ? [] : $this->signer->tags($body) as $tag) { $tags[$tag] = true; } continue; } $this->truth->hits++; $record->position > $history->start && $history->hit($name, $record->position, false); $value = $copies->putBody((string) $key, $body, $at, $left, $found); if ($found) { $values[$key] = $value; } } $this->view->learnMarkers(\array_keys($tags)); foreach ($others as $key => $name) { $entry = $this->judgeRecord($name, $snapshot->records[$name] ?? null, $snapshot, $space); if ($entry !== null) { $value = $copies->put((string) $key, $entry, $found); if ($found) { $values[$key] = $value; } } } return $values; } public function prefetch(array $lists): void { if ($this->near !== null && $this->view->nearReadable && $this->nearHas($lists)) { return; } $wanted = $spaces = []; foreach ($lists as [$space, $keys]) { $copies = $this->view->copies($space); $spaces[] = $space; $isEmpty = $copies !== null && $copies->count() === 0; foreach ($keys as $key) { if ($isEmpty || ($copies !== null && !$copies->has((string) $key))) { $wanted[$space->key((string) $key)] = $space; } } } $changes = $this->view->changes; $snapshot = $wanted === [] ? null : $this->read(\array_keys($wanted), ...$spaces); if ($snapshot === null) { return; } $canWait = $this->near === null && $snapshot->epoch === $this->history->epoch; $start = $this->history->start; $space = $copies = null; $length = $floor = $bytes = 0; $bodies = []; foreach ($snapshot->records as $name => $record) { $name = (string) $name; if (!isset($wanted[$name])) { continue; } if ($space !== $wanted[$name]) { $this->await($copies, $bodies, $bytes, $changes); $space = $wanted[$name]; $copies = $this->view->copies($space); $length = \strlen($space->entries); $floor = $this->view->floor($space); $bytes = 0; $bodies = []; } $key = \substr($name, $length); if ($canWait && $this->signer->isPlain($record->body)) { if ($record->position > $floor) { $this->truth->hits++; $record->position > $start && $this->history->hit($name, $record->position, false); $bytes += \strlen($record->body); $bodies[$key] = $record->body; } continue; } $entry = $this->judgeRecord($name, $record, $snapshot, $space); $entry === null || $copies?->keep($key, $entry); $changes === $this->view->changes || $copies?->drop($key); } $this->await($copies, $bodies, $bytes, $changes); } private function await(?RequestTier $copies, array $bodies, int $bytes, int $changes): void { if ($copies !== null && $bodies !== []) { $copies->await($bodies, $bytes); foreach ($changes === $this->view->changes ? [] : $bodies as $key => $_) { $copies->drop((string) $key); } } } private function nearHas(array $lists): bool { $sample = \min(self::SAMPLE, 1 + (\array_sum(\array_map(static fn(array $list): int => \count($list[1]), $lists)) >> 4)); foreach ($lists as [$space, $keys]) { foreach ($keys as $key) { if (--$sample < 0) { return true; } if ($this->near($space->key((string) $key), $space) === null) { return false; } } } return true; } public function near(string $key, Space $space, int $from = 0, bool $isAsked = false, ?array $asked = null): ?Entry { $from = \max($from, $this->history->ownFloor); if ($from === \PHP_INT_MAX || $this->near === null || !$this->view->nearReadable) { return null; } $epoch = $this->history->epoch; $hit = $isAsked ? $asked : $this->near->get($key); if ($hit === null || $hit[1] < $from || !$this->good($hit[0], $hit[1], $space)) { $this->nearMisses++; return null; } if ($epoch !== $this->history->epoch) { return null; } $this->nearHits++; $this->history->hit($key, $hit[1], $hit[0]->sure !== 0); return $hit[0]; } public function good(Entry $entry, int $position, Space $space): bool { $now = $entry->expiry === 0 && $entry->sure === 0 ? 0 : $this->truth->now(); return $position > $this->view->floor($space) && !$entry->expired($now) && !$entry->outlived($now) && $this->view->tagsHold($entry, $position); } public function read(array $keys, Space ...$spaces): ?Snapshot { return $this->readBeside(null, $keys, $spaces); } public function readToSwap(string $key, Space $space, array $tags): ?Snapshot { return $this->readBeside([...$space->flushes, ...$tags], [$key], [$space]); } private function readBeside(?array $markers, array $keys, array $spaces): ?Snapshot { $beside = $markers ?? $this->view->unknownFlushes($spaces); $ask = $beside === [] ? $keys : [...$keys, ...$beside]; $this->view->isBegun || $this->truth->settle($this->view->writer); $snapshot = $this->truth->read($ask); $this->view->isBegun || $this->view->beginAt($snapshot); if ($snapshot !== null && $snapshot->epoch !== $this->history->epoch) { $this->view->renew(); $ask = [...$keys, ...$markers ?? $this->view->unknownFlushes($spaces)]; $snapshot = $this->view->again($ask); } if ($snapshot === null) { return null; } for ($i = \count($keys), $n = \count($ask); $i < $n; $i++) { $this->view->learnMarker($ask[$i], $snapshot); } foreach ($this->near === null ? $snapshot->beside : [] as $marker) { $this->view->learnMarker($marker, $snapshot); } return $snapshot; } public function judgeRecord(string $key, ?Record $record, Snapshot $snapshot, Space $space): ?Entry { $entry = $record === null ? null : $this->valid($key, $record, $snapshot, $space); if ($record === null || $entry === null) { $this->truth->misses++; $this->history->miss($key, $snapshot->at); return null; } $this->truth->hits++; if ($entry->sure !== 0 && $entry->outlived($now = $this->truth->now())) { if ($entry->over($now)) { $this->history->miss($key, $snapshot->at); return null; } if ($this->leases->renews($key, Entry::BOUNDED_LIFE)) { $this->history->anew($key, $snapshot->at); return null; } } else { $this->near === null || $this->view->copyNear([[$key, $entry, $record->position, $snapshot->at]], $snapshot->epoch); } $this->history->hit($key, $record->position, $entry->sure !== 0); return $entry; } public function valid(string $key, Record $record, Snapshot $snapshot, Space $space, bool $swaps = false): ?Entry { if (($record->body[0] ?? '') === Entry::INTENT) { $this->view->hold($key); $this->view->standing($key, $record, $snapshot); return null; } $entry = $this->signer->open($key, $record->body); return $entry === null || ($entry->expiry !== 0 && $entry->expired($this->truth->now())) || $record->position <= $this->view->floor($space, $swaps) || ($entry->tags !== [] && !$this->view->tagsHold($entry, $record->position, $swaps)) || $snapshot->epoch !== $this->history->epoch ? null : $entry; } public function isUnsure(string $key, ?Record $record, Space $space, bool $swaps): bool { if ($this->view->floor($space, $swaps) === \PHP_INT_MAX) { return true; } foreach ($record === null ? [] : $this->signer->open($key, $record->body)->tags ?? [] as $tag) { if ($this->view->at($tag, $swaps) === \PHP_INT_MAX) { return true; } } return false; } }
}
}
namespace Larder\Request {

if (!\class_exists('larder\request\verdict', false)) {
enum Verdict { case Store; case Same; case Bounded; case Drop; case Failed; }
}
}
namespace Larder\Request {
use Larder\Codec\Entry; use Larder\Store\Change; use Larder\Store\ChangeResult; use Larder\Store\Record; use Larder\System\Process; 
if (!\class_exists('larder\request\writer', false)) {
final class Writer { private const TRIES = 200; private const EPOCHS = 3; private const PENDING = 1000; private const PENDING_BYTES = 8_388_608; private const OWN = 20_000; private const AT_ONCE = 1_000; private const LATE = 256; private const LATE_BYTES = 1_048_576; public int $dropped = 0; public int $bounded = 0; public int $refused = 0; private array $pending = []; private int $bytes = 0; private array $late = []; private int $lateBytes = 0; private int $landings = 0; public array $intended = []; private readonly Change $blank; private bool $appends = false; public function __construct( private readonly View $view, private readonly Reader $reader, private readonly Truth $truth, ) { $this->blank = new Change('', null, ''); } public function forget(): void { $this->pending = $this->late = $this->intended = []; } public function set(string $key, Space $space, Entry $entry): Verdict { if (($this->appends || ($this->appends = $this->truth->appends())) && $this->append($key, $space, $entry)) { return Verdict::Store; } $this->view->history->isWatched && $this->view->history->change($key); unset($this->pending[$key]); $change = $this->first($key, $space, $entry); $outcome = null; if ($change !== null) { $outcome = $this->truth->write([$change], [$key])[0] ?? null; if ($outcome !== null && $outcome->done) { $this->stored($key, $space, $entry, $outcome, $change->epoch); return Verdict::Store; } } return $this->settle([$key => $entry], $space, $change, $outcome)[$key]; } public function setMany(array $entries, Space $space): array { $verdicts = []; foreach (\array_chunk($entries, self::AT_ONCE, true) as $part) { foreach ($part as $key => $_) { $this->view->history->change($key); unset($this->pending[$key]); } $verdicts += $this->settle($part, $space); } return $verdicts; } public function fill(string $key, Space $space, Entry $entry, array $beginning): bool { unset($this->pending[$key]); $this->view->renew(); $history = $this->view->history; $epoch = $history->epoch; [$how, $reference] = $history->reference($key); [, $position, $moment] = $beginning; if ($position < $reference) { $reference = $position; } if ($this->truth->down() || !$this->unchanged($key, $space, $entry, $reference, $moment)) { $this->refused++; return false; } $this->pending[$key] = [$space, $entry, $reference, $moment]; if ($how === RequestHistory::MISSED && !$this->view->isHeld($key) && !isset($this->view->copies($space)->own[\substr($key, \strlen($space->entries))])) { $at = \max($reference, $history->seen); $this->view->copyNear([[$key, $entry, $at, $at]], $epoch); } $this->bytes += \strlen($entry->payload); if (\count($this->pending) > self::PENDING || $this->bytes > self::PENDING_BYTES) { $this->commit(); } return true; } public function fillNow(string $key, Space $space, Entry $entry, ?Change $release, int $reference, int $moment): bool { unset($this->pending[$key]); return $this->commitFills([$key => [$space, $entry, $reference, $moment]], $release === null ? [] : [$release]) === 1; } public function commit(array $also = []): void { $this->late === [] || $this->land(); $pending = $this->pending; $this->pending = []; $this->bytes = 0; $this->commitFills($pending, $also); } private function commitFills(array $fills, array $also): int { $changes = $keys = []; $history = $this->view->history; foreach ($fills as $key => [$space, $entry, $reference, $moment]) { $epoch = $history->epoch; $this->view->precede($space, $entry); if (!$this->unchanged($key, $space, $entry, $reference, $moment)) { $this->notFilled($key, $space); continue; } $changes[] = new Change( $key, $this->reader->signer->seal($key, $entry), $this->view->writer, $history->limit($key, $reference), $entry->expiry, $this->view->guards($space, $entry, $reference), epoch: $epoch, ); $keys[] = $key; } $all = [...$changes, ...$also]; $kept = \array_merge([], ...\array_map(Leases::kept(...), $also)); $now = $history->moment; $outcomes = $all === [] ? [] : $this->truth->write($all, $kept) ?? []; $isSame = $now === $history->moment; $stored = []; foreach ($keys as $i => $key) { [$space, $entry, , $moment] = $fills[$key]; $outcome = $outcomes[$i] ?? null; if ($outcome === null || !$outcome->done) { $this->notFilled($key, $space); continue; } $this->stored($key, $space, $entry, $outcome, $changes[$i]->epoch); if (!$isSame && $history->hasChanged($key, $space, $entry, $moment)) { $this->delete([$key], $space); $this->refused++; } else { $stored[] = $key; } } foreach ($history->isShared ? $stored : [] as $key) { $history->change($key); } return \count($stored); } public function isThere(string $key, Space $space): bool { if (isset($this->pending[$key])) { return true; } $epoch = $this->view->history->epoch; $position = $this->truth->position($key, $epoch); if ($position !== null) { $isThere = $position > $this->view->floor($space); if ($epoch === $this->view->history->epoch) { return $isThere; } } $record = $this->view->again([$key])->records[$key] ?? null; return $record !== null && ($record->body[0] ?? '') !== Entry::INTENT && $record->position > $this->view->floor($space); } public function delete(array $keys, Space $space, int &$there = 0): bool { $there = 0; $changes = $waited = []; foreach ($keys as $key) { $this->view->history->change($key); $waited[$key] = isset($this->pending[$key]); unset($this->pending[$key]); $change = clone $this->blank; $change->key = $key; $change->writer = $this->view->writer; $change->kind = Entry::DELETED; $changes[] = $change; } $outcomes = $this->truth->write($changes, $keys); foreach ($keys as $i => $key) { $this->gone($key, $space); $outcome = $outcomes[$i] ?? null; if ($outcome !== null && $outcome->done) { $this->view->history->own($outcome->position, $outcome->step); $this->noteForeign($key, $outcome->writer, $outcome->previous); if ($waited[$key] || $outcome->kind === 's' && $outcome->previous > $this->view->floor($space)) { $there++; } } elseif ($outcome !== null && $this->takeAway($key, $outcome, Entry::DELETED) === null) { $outcomes = null; } $this->view->history->change($key); } return $outcomes !== null; } public function mark(array $markers): bool { foreach ($markers as $marker) { $this->view->history->change($marker); } $this->discardMarked($markers); for ($try = 1; ; $try++) { $epoch = $try <= self::EPOCHS ? $this->view->history->epoch : ''; $outcomes = $this->truth->write(\array_map( fn(string $marker): Change => new Change($marker, Entry::MARKER, $this->view->writer, kind: Entry::MARKER, epoch: $epoch), $markers, ), $markers); if ($outcomes === null || $epoch === '' || $outcomes[0]->position >= 0) { break; } $this->view->renew(); } $done = true; foreach ($markers as $i => $marker) { $this->view->history->change($marker); $this->view->near?->drop($marker); $outcome = $outcomes[$i] ?? null; if ($outcome !== null && !$outcome->done) { $outcome = $this->takeAway($marker, $outcome, Entry::MARKER, Entry::MARKER); } if ($outcome === null) { $this->view->changed($marker, \PHP_INT_MAX, true); $done = false; } else { $this->moved($marker, $outcome); } } return $done; } public function atomic(string $key, Space $space, \Closure $decide): ?Entry { if (isset($this->pending[$key])) { $fill = [$key => $this->pending[$key]]; unset($this->pending[$key]); $this->commitFills($fill, []); } $this->truth->catchUp(); $this->land(); $tags = []; for ($try = 0; $try < self::TRIES; $try++) { $snapshot = $this->reader->readToSwap($key, $space, $tags); if ($snapshot === null) { return null; } $record = $snapshot->records[$key] ?? null; $entry = $record === null ? null : $this->reader->valid($key, $record, $snapshot, $space, true); if ($entry !== null && \array_diff($entry->tags, $tags) !== []) { $tags = $entry->tags; continue; } if ($record !== null && $entry === null && (Intent::alive(Intent::parse($record->body), $this->truth->now()) !== [] || $this->reader->isUnsure($key, $record, $space, true))) { return null; } $moment = $this->view->history->watch(); $next = $decide($entry); if ($next === null || !$this->view->precede($space, $next)) { return null; } if ($this->view->history->hasChanged($key, $space, $next, $moment)) { continue; } $guards = \array_fill_keys([...$space->flushes, ...$next->tags], $snapshot->at); $this->view->history->change($key); $outcomes = $this->truth->write([new Change( $key, $this->reader->signer->seal($key, $next), $this->view->writer, $record->position ?? $snapshot->at, $next->expiry, $guards, strict: true, epoch: $snapshot->epoch, atomic: true, )]); if ($outcomes === null) { return null; } if ($outcomes[0]->done) { $this->stored($key, $space, $next, $outcomes[0], $snapshot->epoch); $this->view->history->change($key); $this->view->history->swapped($key, $outcomes[0]->position); return $next; } if ($outcomes[0]->kind === ChangeResult::REFUSED) { return null; } if ($try > 2) { Process::pause(\random_int(10, 100 * \min($try, 20))); } } return null; } public function append(string $key, Space $space, ?Entry $entry): bool { $view = $this->view; $history = $view->history; [$how, $reference] = $history->reference($key); if (($entry !== null && ($entry->tags !== [] || $entry->sure !== 0 || $how === RequestHistory::UNSURE)) || isset($this->intended[$key]) || $view->isHeld($key)) { return false; } $change = clone $this->blank; $change->key = $key; $change->writer = $view->writer; if (!$space->cacheOnly || $how !== RequestHistory::SEEN) { $limit = $history->limitOfAll($key, $space->flushes, $reference); if ($limit === null) { return false; } $change->limit = $limit; $change->epoch = $history->epoch; } if ($entry === null) { $change->kind = Entry::DELETED; } else { $change->body = $this->reader->signer->seal($key, $entry); $change->expiry = $entry->expiry; if ($how === RequestHistory::MISSED) { $change->bounded = $this->reader->signer->seal($key, $entry->bounded($this->truth->now())); $change->payload = \strlen($entry->payload); } } $landings = $this->landings; $history->isWatched && $history->change($key); if (isset($this->late[$key])) { $this->late[$key] = null; } if (!$this->truth->append($change)) { return false; } unset($this->pending[$key], $this->late[$key]); if ($view->near === null) { $view->changes++; } else { $this->own($key, $space, \PHP_INT_MAX) ?? $this->hide($key, $space); } $this->late[$key] = [$space, $entry]; $entry === null && $history->isWatched && $history->change($key); $this->lateBytes += $change->body === null ? 0 : \strlen($change->body); if ($landings !== $this->landings) { $view->near?->drop($key); } if (\count($this->late) >= self::LATE || $this->lateBytes > self::LATE_BYTES) { $this->land(); } return true; } public function land(): void { $history = $this->view->history; $epoch = $history->epoch; $this->landings++; $late = $this->late; $this->late = []; $this->lateBytes = 0; $bounded = []; $settled = $this->truth->settle($this->view->writer, $bounded); $copies = []; foreach ($late as $key => $waiting) { $position = $settled[$key] ?? 0; if ($waiting === null) { $position > 0 && $history->own($position, 1); continue; } [$space, $entry] = $waiting; if ($position > 0) { $history->own($position, 1); if ($this->view->near === null) { continue; } if ($entry === null) { $this->view->near->drop($key); } else { $this->own($key, $space, $position); $copies[] = [$key, $entry, $position, $position]; } } elseif ($position < 0) { if (isset($bounded[$key])) { $this->bounded++; } elseif ($entry !== null) { $this->dropped++; } $history->foreign($key, -$position, ''); $this->gone($key, $space); } } $this->view->copyNear($copies, $epoch); } public function noteForeign(string $key, string $writer, int $position): void { if ($position > 0 && $writer !== '' && $writer !== $this->view->writer) { if ($position > $this->view->history->reference($key)[1]) { $this->view->history->foreign($key, $position, ''); } } } private function takeAway(string $key, ChangeResult $outcome, string $kind, ?string $body = null): ?ChangeResult { for ($try = 0; $try < self::TRIES; $try++) { $standing = $this->othersIntents($outcome->record->body ?? ''); $outcomes = $this->truth->write([new Change( $key, $standing === [] ? $body : Intent::body($standing), $this->view->writer, $outcome->record->position ?? Change::ALWAYS, kind: $kind, strict: $outcome->record !== null, )], [$key]); if ($outcomes === null || $outcomes[0]->done) { return $outcomes[0] ?? null; } $outcome = $outcomes[0]; } return null; } public function takeAwayRecord(string $key, Record $record): bool { $this->view->history->change($key); $isMarker = $key[0] !== 'e'; $outcome = $this->takeAway( $key, new ChangeResult(false, $record->position, record: $record), $isMarker ? Entry::MARKER : Entry::DELETED, $isMarker ? Entry::MARKER : null, ); if ($outcome !== null && $isMarker) { $this->moved($key, $outcome); } return $outcome !== null; } public function invalidate(array $keys, Space $space): bool { return $keys[0][0] === 'e' ? $this->delete($keys, $space) : $this->mark($keys); } public function changed(string $key, Space $space, ChangeResult $outcome): void { if ($key[0] === 'e') { $this->gone($key, $space); } else { $this->view->near?->drop($key); $this->moved($key, $outcome); } } public function discard(string $key): void { unset($this->pending[$key]); } public function discardMarked(array $markers): void { foreach ($this->pending as $key => [, $entry]) { foreach ($markers as $marker) { if (Space::marks($marker, (string) $key, $entry)) { unset($this->pending[$key]); } } } } private function moved(string $marker, ChangeResult $outcome): void { $this->view->changed($marker, $outcome->position, true); $this->view->history->own($outcome->position, $outcome->step); $this->noteForeign($marker, $outcome->writer, $outcome->previous); } private function othersIntents(string $body): array { $standing = Intent::alive(Intent::parse($body), $this->truth->now()); unset($standing['w' . $this->view->writer]); return $standing; } private function settle(array $entries, Space $space, ?Change $made = null, ?ChangeResult $outcome = null): array { $verdicts = $open = []; foreach ($entries as $key => $entry) { $open[$key] = $this->settling((string) $key, $space, $entry, $made ?? $this->first((string) $key, $space, $entry), $made !== null, $outcome); } do { $changes = []; foreach ($open as $key => $settling) { if ($settling->valid()) { $changes[$key] = $settling->current(); } else { $verdicts[$key] = $settling->getReturn(); unset($open[$key]); } } $outcomes = $changes === [] ? null : $this->truth->write(\array_values($changes), \array_keys($changes)); foreach (\array_values($open) as $i => $settling) { $settling->send($outcomes[$i] ?? null); } } while ($open !== []); foreach ($verdicts as $verdict) { if ($verdict === Verdict::Drop) { $this->dropped++; } elseif ($verdict === Verdict::Bounded) { $this->bounded++; } } return $verdicts; } private function first(string $key, Space $space, Entry $entry): ?Change { $view = $this->view; $history = $view->history; $epoch = $history->epoch; if ($entry->tags !== [] || !isset($view->floors[$space->path])) { $view->precede($space, $entry); } [$how, $reference] = $history->reference($key); if ($how === RequestHistory::UNSURE) { return null; } $change = clone $this->blank; if ($how !== RequestHistory::SEEN || !$space->cacheOnly) { $markers = $entry->tags === [] ? $space->flushes : [...$space->flushes, ...$entry->tags]; $limit = $history->limitOfAll($key, $markers, $reference); if ($limit === null) { return null; } $change->limit = $limit; $change->guards = \array_fill_keys($markers, $limit); } $change->key = $key; $change->body = $this->reader->signer->seal($key, $entry); $change->writer = $view->writer; $change->expiry = $entry->expiry; $change->epoch = $epoch; return $change; } private function settling(string $key, Space $space, Entry $entry, ?Change $first, bool $isMade, ?ChangeResult $outcome): \Generator { $history = $this->view->history; $epoch = $first->epoch ?? $history->epoch; [$how, $reference] = $history->reference($key); $verdict = ConflictTable::set($how, $space->cacheOnly, null, false, false); $stored = $entry; $strict = false; $limit = $first->limit ?? Change::ALWAYS; $guards = $first->guards ?? []; if ($first === null && $verdict !== Verdict::Drop) { $limit = $history->limit($key, $reference); $guards = $this->view->guards($space, $entry, $reference); $strict = $history->changed($key, $reference); if ($limit < 0 || \in_array(-1, $guards, true)) { $verdict = ConflictTable::set($how, $space->cacheOnly, '', false, false); $limit = Change::ALWAYS; $strict = false; $guards = []; $epoch = ''; } } for ($try = 0; $try < self::TRIES; $try++) { if ($verdict === Verdict::Drop) { return (yield from $this->dropping($key, $space)) ? Verdict::Drop : Verdict::Failed; } if ($verdict === Verdict::Same) { $this->view->near?->drop($key); return $verdict; } if ($verdict === Verdict::Bounded) { $stored = $entry->bounded($this->truth->now()); } if ($try === 0 && $first !== null) { $current = $isMade ? $outcome : yield $first; } else { $current = yield new Change( $key, $this->reader->signer->seal($key, $stored), $this->view->writer, $limit, $stored->expiry, $guards, strict: $strict, epoch: $epoch, ); } if ($current === null) { break; } if ($current->done) { $this->stored($key, $space, $stored, $current, $epoch); return $verdict; } if ($current->kind === ChangeResult::REFUSED) { yield from $this->dropping($key, $space); break; } if ($current->position < 0 && $epoch !== '' && $epoch === $history->epoch) { $this->view->renew(); if ($limit === Change::ALWAYS) { $epoch = ''; $this->view->precede($space, $entry); continue; } } $verdict = $this->judge($key, $space, $entry, $how, $current, $verdict); if ($current->guard !== null) { $guards[$current->guard] = $current->position < 0 ? Change::ALWAYS : $current->position; } else { $strict = $current->record !== null; $limit = $current->record->position ?? ($current->position < 0 ? Change::ALWAYS : $current->position); } $epoch = $limit === Change::ALWAYS ? '' : ($epoch === '' ? $history->epoch : $epoch); } $this->gone($key, $space); return Verdict::Failed; } private function dropping(string $key, Space $space): \Generator { $this->gone($key, $space); $outcome = yield new Change($key, null, $this->view->writer, kind: Entry::DROPPED); return $outcome !== null && ($outcome->done || $this->takeAway($key, $outcome, Entry::DROPPED) !== null); } private function judge(string $key, Space $space, Entry $entry, int $how, ChangeResult $conflict, Verdict $before): Verdict { if ($conflict->guard !== null) { if ($conflict->kind === Entry::MADE) { $this->view->renew(); $history = $this->view->history; if ($history->seen >= $conflict->position && !$history->changed($conflict->guard, $history->reference($key)[1])) { return $before; } } return ConflictTable::set($how, $space->cacheOnly, Entry::DELETED, false, false); } if ($conflict->writer === $this->view->writer) { $history = $this->view->history; $change = $history->changed($key, $history->reference($key)[1]) ? $history->kind($key) : null; } else { $change = $conflict->kind; $this->view->history->foreign($key, \max(0, $conflict->position), $conflict->kind); } $there = $conflict->record === null ? null : $this->reader->signer->open($key, $conflict->record->body); $same = $there !== null && $there->payload === $entry->payload && $there->tags === $entry->tags; $standing = $this->othersIntents($conflict->record->body ?? '') !== []; $verdict = ConflictTable::set($how, $space->cacheOnly, $change, $same, $standing); return $verdict === Verdict::Bounded && isset($this->intended[$key]) ? Verdict::Drop : $verdict; } private function unchanged(string $key, Space $space, Entry $entry, int $reference, int $moment): bool { $history = $this->view->history; [$how] = $history->reference($key); if ($moment !== $history->moment && $history->hasChanged($key, $space, $entry, $moment)) { return ConflictTable::stores($how, true); } foreach ([$key, ...$space->flushes, ...$entry->tags] as $each) { if ($history->changed($each, $reference)) { return ConflictTable::stores($how, true); } } return ConflictTable::stores($how, false); } private function stored(string $key, Space $space, Entry $entry, ChangeResult $outcome, string $epoch): void { $this->view->history->own($outcome->position, $outcome->step); if ($this->view->near === null) { $this->view->changes++; } else { $this->own($key, $space, $outcome->position); $this->view->copyNear([[$key, $entry, $outcome->position, $outcome->position]], $epoch); } } private function notFilled(string $key, Space $space): void { $this->refused++; $this->gone($key, $space); } public function gone(string $key, Space $space): void { $this->hide($key, $space)?->drop(\substr($key, \strlen($space->entries))); } private function hide(string $key, Space $space): ?RequestTier { $copies = $this->own($key, $space, \PHP_INT_MAX); $this->view->near?->drop($key); return $copies; } private function own(string $key, Space $space, int $position): ?RequestTier { $this->view->changes++; if (isset($this->late[$key])) { $this->late[$key] = null; } $copies = $this->view->copies($space); if ($copies !== null && $this->view->near !== null) { if (\count($copies->own) >= self::OWN) { $this->view->history->forgetOwn($copies->own); $copies->own = []; $this->view->version++; } $copies->own[\substr($key, \strlen($space->entries))] = $position; } return $copies; } }
}
}
