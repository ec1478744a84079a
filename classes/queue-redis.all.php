<?php

declare(strict_types=1);

// Made by bin/classes from src/.

namespace Larder\Codec {
use Larder\System\Quiet; 
if (!\class_exists('larder\codec\codec', false)) {
final class Codec { public const STRING = "\x00"; private const INT = "\x01"; public const NULL = "\x02"; private const FALSE = "\x03"; private const TRUE = "\x04"; private const FLOAT = "\x05"; private const PHP = 6; private const IGBINARY = 7; private const MSGPACK = 8; private const TYPE = 0x0F; private const COMPRESSOR = 0x30; private const SNAPSHOT = 0x40; public const SNAPSHOTS = "\x40"; private const PLAIN = "\x07"; private const PLAIN_SUM = self::IGBINARY * 0x9E3779B1 & 0xFFFFFFFF; private const IGBINARY_2 = "\x00\x00\x00\x02"; private const PHP_STANDARD = 9; private const IGBINARY_STANDARD = 10; public const UNCOMPRESSED = 0; private const SERIALIZERS = ['php' => self::PHP, 'igbinary' => self::IGBINARY, 'msgpack' => self::MSGPACK]; private function __construct( private readonly int $serializer, private readonly int $compressor, private readonly int $threshold, ) {} public static function create(?string $serializer, ?string $compressor, int $threshold = 4096): self { $type = $serializer === null ? (\extension_loaded('igbinary') ? self::IGBINARY : self::PHP) : self::SERIALIZERS[$serializer] ?? throw new \InvalidArgumentException("Unknown serializer \"{$serializer}\": use php, igbinary or msgpack, or leave it out for the fastest that is loaded."); if ($serializer !== null && $type !== self::PHP && !\extension_loaded($serializer)) { throw new \InvalidArgumentException("The serializer {$serializer} needs ext-{$serializer}, which this PHP does not have: install it, or leave the option out."); } $by = $compressor === null ? self::UNCOMPRESSED : Compression::NAMES[$compressor] ?? throw new \InvalidArgumentException("Unknown compressor \"{$compressor}\": use none, zstd, lz4 or gzip."); $extension = $compressor === null ? null : Compression::missing($by); if ($extension !== null) { throw new \InvalidArgumentException("The compressor {$compressor} needs ext-{$extension}, which this PHP does not have: install it, or use gzip or none."); } if ($threshold < 0) { throw new \InvalidArgumentException("The compression threshold is {$threshold} bytes: use 0 or more."); } return new self($type, $by, $threshold); } public function encode(mixed $value): string { $mark = 0; if (\is_string($value)) { if ($this->compressor === self::UNCOMPRESSED || \strlen($value) < $this->threshold) { return self::STRING . $value; } $body = $value; } elseif (\is_array($value)) { $arrays = 0; $found = Inspection::glance($value, $arrays); $body = $found === Inspection::PLAIN ? $this->plain($value, $mark) : $this->special($value, $mark); } elseif (\is_int($value)) { return self::INT . $value; } elseif ($value === null) { return self::NULL; } elseif (\is_bool($value)) { return $value ? self::TRUE : self::FALSE; } elseif (\is_float($value)) { return self::FLOAT . \pack('E', $value); } else { $body = $this->special($value, $mark); } if ($this->compressor !== self::UNCOMPRESSED && \strlen($body) >= $this->threshold) { $short = Compression::shrink($this->compressor, $body); if ($short !== null) { $mark |= $this->compressor << 4; $body = $short; } elseif ($mark === 0) { return self::STRING . $body; } } return \chr($mark) . self::checksum($mark, $body) . $body; } private static function checksum(int $mark, string $body): string { return \pack('N', \crc32($body) ^ ($mark * 0x9E3779B1 & 0xFFFFFFFF)); } public static function isSnapshot(string $data, int $offset = 0): bool { return isset($data[$offset]) && $data[$offset] >= self::SNAPSHOTS; } public function decode(string $data, int $offset = 0): mixed { if (!isset($data[$offset])) { throw Undecodable::because('it is empty.'); } $mark = $data[$offset]; if ($mark === self::STRING) { return \substr($data, $offset + 1); } if ($mark === self::PLAIN && $this->serializer === self::IGBINARY && isset($data[$offset + 9])) { $body = \substr($data, $offset + 5); if (\substr_compare($data, \pack('N', \crc32($body) ^ self::PLAIN_SUM), $offset + 1, 4) === 0 && \str_starts_with($body, self::IGBINARY_2)) { $value = \igbinary_unserialize($body); if (\is_array($value)) { return $value; } } } if ($mark > self::FLOAT) { return self::body(\ord($mark), $data, $offset + 1); } $rest = \substr($data, $offset + 1); if ($mark === self::INT) { $int = (int) $rest; if ((string) $int === $rest) { return $int; } } elseif ($mark === self::FLOAT) { $float = \strlen($rest) === 8 ? \unpack('E', $rest) : false; if ($float !== false) { return $float[1]; } } elseif ($rest === '') { return $mark === self::NULL ? null : $mark === self::TRUE; } throw Undecodable::because('its bytes are damaged.'); } private static function body(int $mark, string $data, int $offset): mixed { $body = \substr($data, $offset + 4); if ($mark > 0x7F || \substr($data, $offset, 4) !== self::checksum($mark, $body)) { throw Undecodable::because('its bytes are damaged.'); } Quiet::begin(); try { if (($mark & self::COMPRESSOR) !== 0) { $body = Compression::expand(($mark & self::COMPRESSOR) >> 4, $body); if (($mark & self::TYPE) === 0) { return $body; } } $value = match ($mark & (self::TYPE | self::SNAPSHOT)) { self::IGBINARY, self::IGBINARY_STANDARD | self::SNAPSHOT => self::igbinary($body), self::PHP => \unserialize($body, ['allowed_classes' => false]), self::PHP_STANDARD | self::SNAPSHOT => \unserialize($body, ['allowed_classes' => ['stdClass']]), self::MSGPACK => \function_exists('msgpack_unpack') ? \msgpack_unpack($body) : throw self::gone('msgpack'), self::IGBINARY | self::SNAPSHOT, self::PHP | self::SNAPSHOT => self::objects($mark & self::TYPE, $body), default => null, }; } catch (Undecodable $e) { throw $e; } catch (\Throwable $e) { throw Undecodable::because($e::class . ': ' . $e->getMessage(), $e); } finally { Quiet::end(); } if (!\is_array($value) && !\is_object($value)) { throw Undecodable::because('its bytes are damaged.'); } return $value; } private static function objects(int $type, string $body): mixed { $before = \function_exists('ini_set') ? \ini_set('unserialize_callback_func', self::class . '::refuse') : false; try { return $type === self::PHP ? \unserialize($body) : self::igbinary($body); } finally { if ($before !== false) { \ini_set('unserialize_callback_func', $before); } } } public static function refuse(string $class): never { throw Undecodable::because("the class {$class} is not loaded here."); } private static function igbinary(string $body): mixed { return \function_exists('igbinary_unserialize') ? \igbinary_unserialize($body) : throw self::gone('igbinary'); } private static function gone(string $extension): Undecodable { return Undecodable::because("it was serialized with {$extension}, which this PHP does not have; install ext-{$extension}, or flush."); } private function plain(array $value, int &$mark): string { $mark = $this->serializer; if ($this->serializer === self::IGBINARY) { $body = (string) \igbinary_serialize($value); if (\preg_match('/%[\x01-\x03]/', $body) === 1 && Inspection::holdsReference($value)) { $mark |= self::SNAPSHOT; } return $body; } $php = self::php($value); if (\str_contains($php, 'R:') && \str_contains($php, ';R:') && Inspection::holdsReference($value)) { $mark = self::PHP | self::SNAPSHOT; return $php; } if ($this->serializer === self::MSGPACK) { $body = self::msgpack($value, $php); if ($body !== null) { return $body; } $mark = self::PHP; } return $php; } private function special(mixed $value, int &$mark): string { $objects = Inspection::thorough($value); if ($objects === [] && \is_array($value) && !Inspection::holdsReference($value)) { return $this->plain($value, $mark); } Quiet::begin(); try { $standard = $objects === [\stdClass::class]; $mark = self::SNAPSHOT | ($this->serializer === self::IGBINARY ? ($standard ? self::IGBINARY_STANDARD : self::IGBINARY) : ($standard ? self::PHP_STANDARD : self::PHP)); return $this->serializer === self::IGBINARY ? (string) \igbinary_serialize($value) : self::php($value); } catch (\Throwable $e) { throw Inspection::refusal($value, $e); } finally { Quiet::end(); } } private static function php(mixed $value): string { $precision = (int) \ini_get('serialize_precision'); if ($precision === -1 || $precision >= 17 || !\function_exists('ini_set')) { return \serialize($value); } \ini_set('serialize_precision', '-1'); try { return \serialize($value); } finally { \ini_set('serialize_precision', (string) $precision); } } private static function msgpack(array $value, string $php): ?string { Quiet::begin(); try { $body = \msgpack_pack($value); return self::php(\msgpack_unpack($body)) === $php ? $body : null; } finally { Quiet::end(); } } }
}
}
namespace Larder\Codec {

final class Compression { public const NONE = Codec::UNCOMPRESSED; public const ZSTD = 1; public const LZ4 = 2; public const GZIP = 3; public const NAMES = ['none' => self::NONE, 'zstd' => self::ZSTD, 'lz4' => self::LZ4, 'gzip' => self::GZIP]; public const LONGEST = 536_870_912; private const NEEDS = [ self::ZSTD => ['zstd_uncompress', 'zstd'], self::LZ4 => ['lz4_uncompress', 'lz4'], self::GZIP => ['gzinflate', 'zlib'], ]; public static function missing(int $compressor): ?string { $needs = self::NEEDS[$compressor] ?? null; return $needs === null || \function_exists($needs[0]) ? null : $needs[1]; } public static function shrink(int $compressor, string $body): ?string { $length = \strlen($body); if ($length > self::LONGEST) { return null; } $short = match ($compressor) { self::ZSTD => \zstd_compress($body), self::LZ4 => \lz4_compress($body), self::GZIP => \gzdeflate($body, 1), default => false, }; return \is_string($short) && \strlen($short) + 4 < $length ? \pack('N', $length) . $short : null; } public static function expand(int $compressor, string $data): string { $extension = self::missing($compressor); if ($extension !== null) { throw Undecodable::because("it was compressed with {$extension}, which this PHP does not have; install ext-{$extension}, or flush."); } $head = \strlen($data) >= 4 ? \unpack('N', $data) : false; $length = $head === false ? null : $head[1]; if (!\is_int($length) || $length > self::LONGEST) { throw Undecodable::because('its length is damaged or above 512 MB.'); } $short = \substr($data, 4); $body = match ($compressor) { self::ZSTD => self::zstdLength($short) === $length ? \zstd_uncompress($short) : false, self::LZ4 => \substr($short, 0, 4) === \pack('V', $length) ? \lz4_uncompress($short) : false, self::GZIP => \gzinflate($short, $length), default => false, }; if (!\is_string($body) || \strlen($body) !== $length) { throw Undecodable::because('its compressed bytes are damaged.'); } return $body; } private static function zstdLength(string $frame): ?int { if (\strlen($frame) < 18) { $frame = \str_pad($frame, 18, "\0"); } if (\substr($frame, 0, 4) !== "\x28\xB5\x2F\xFD") { return null; } $descriptor = \ord($frame[4]); $single = ($descriptor >> 5) & 1; $at = 5 + (1 - $single) + [0, 1, 2, 4][$descriptor & 3]; [$code, $plus] = match ($descriptor >> 6) { 0 => [$single === 1 ? 'C' : '', 0], 1 => ['v', 256], 2 => ['V', 0], default => ['P', 0], }; $size = $code === '' ? false : \unpack($code, $frame, $at); return $size !== false && \is_int($size[1]) ? $size[1] + $plus : null; } }
}
namespace Larder\Config {

if (!\class_exists('larder\config\dsn', false)) {
final class Dsn { public const EXTENSIONS = [ 'sqlite' => 'pdo_sqlite', 'file' => '', 'redis' => 'redis', 'rediss' => 'redis', 'predis' => '', 'predis+tls' => '', 'memcached' => '', 'segment' => 'larder', 'apcu' => 'apcu', 'memory' => '', ]; public const TIERS = [ 'sqlite' => 'disk', 'file' => 'disk', 'redis' => 'far', 'rediss' => 'far', 'predis' => 'far', 'predis+tls' => 'far', 'memcached' => 'far', 'segment' => 'near', 'apcu' => 'near', 'memory' => 'near', ]; private const PLAIN = '~^sqlite://(/(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+)$~D'; private const REDIS_PORT = 6379; private const MEMCACHED_PORT = 11211; public string $path = ''; public string $host = ''; public int $port = 0; public array $servers = []; public int $db = 0; public ?string $user = null; public ?string $password = null; public array $query = []; public int $bytes = 0; public function __construct( public string $scheme, string $path = '', string $host = '', int $port = 0, array $servers = [], int $db = 0, ?string $user = null, #[\SensitiveParameter] ?string $password = null, #[\SensitiveParameter] array $query = [], int $bytes = 0, ) { $path === '' || $this->path = $path; $query === [] || $this->query = $query; $bytes === 0 || $this->bytes = $bytes; if (self::TIERS[$scheme] === 'far') { $this->host = $host; $this->port = $port; $this->servers = $servers; $this->db = $db; $this->user = $user; $this->password = $password; } } public static function parse(#[\SensitiveParameter] string $text, ?array $known = null): self { if (\preg_match(self::PLAIN, $text, $plain) === 1) { return new self('sqlite', $plain[1]); } $colon = \strpos($text, '://'); if ($colon === false || $colon === 0) { throw InvalidConfiguration::notADsn($text); } if (\preg_match('/[\x00-\x1f\x7f]/', $text) === 1) { throw InvalidConfiguration::malformed($text, 'it contains a control character', 'remove the line break or NUL byte from it'); } $scheme = \substr($text, 0, $colon); $tier = self::TIERS[$scheme] ?? null; if ($tier === null) { $lower = \strtolower($scheme); if (!isset(self::TIERS[$lower])) { throw InvalidConfiguration::unknownScheme($text, $lower, $known ?? \array_keys(self::TIERS)); } $scheme = $lower; $tier = self::TIERS[$lower]; } $rest = \substr($text, $colon + 3); $mark = \strpos($rest, '?'); $query = []; if ($mark !== false) { $query = self::query($text, \substr($rest, $mark + 1)); $rest = \substr($rest, 0, $mark); } if ($tier === 'disk') { return new self($scheme, self::directory($text, $scheme, $rest), query: $query); } if ($scheme === 'segment') { $bytes = isset($query['bytes']) ? Options::size('bytes', $query['bytes']) : 0; unset($query['bytes']); return new self($scheme, self::file($text, $rest), query: $query, bytes: $bytes); } if ($tier === 'near') { if ($rest !== '' && $rest !== '/') { throw InvalidConfiguration::malformed($text, $scheme . ':// has no host and no path', 'write ' . $scheme . '://'); } return new self($scheme, query: $query); } if ($scheme === 'memcached') { return new self($scheme, servers: self::memcached($text, $rest), query: $query); } return self::redis($text, $scheme, $rest, $query); } public function needs(): void { $extension = self::EXTENSIONS[$this->scheme]; if ($extension !== '' && $extension !== 'larder' && !\extension_loaded($extension)) { if ($extension !== 'redis') { throw InvalidConfiguration::missingExtension($extension, $this->scheme . '://'); } if (!\class_exists(\Predis\Client::class)) { throw InvalidConfiguration::missingRedis($this->scheme . '://'); } } elseif (($this->scheme === 'predis' || $this->scheme === 'predis+tls') && !\class_exists(\Predis\Client::class)) { throw InvalidConfiguration::missingPredis($this->scheme . '://'); } if (!\function_exists('ini_get') || (string) \ini_get('disable_functions') !== '') { Functions::check(self::TIERS[$this->scheme] === 'far' && $extension === '' ? [...Functions::NEEDED, ...Functions::SOCKETS] : Functions::NEEDED); } } public function toString(): string { if (self::TIERS[$this->scheme] === 'disk') { return "$this->scheme://$this->path"; } $text = $this->scheme . '://'; if ($this->user !== null || $this->password !== null) { $text .= \rawurlencode($this->user ?? '') . ':***@'; } if ($this->servers !== []) { $hosts = []; foreach ($this->servers as [$host, $port]) { $hosts[] = $port === 0 ? $host : self::bracketed($host) . ':' . $port; } return $text . \implode(',', $hosts); } if ($this->host !== '') { return $text . self::bracketed($this->host) . ':' . $this->port . '/' . $this->db; } return $text . $this->path . ($this->db === 0 ? '' : '?db=' . $this->db); } public function __debugInfo(): array { return ['password' => $this->password === null ? null : '***', 'query' => \array_keys($this->query)] + \get_object_vars($this); } private static function bracketed(string $host): string { return \str_contains($host, ':') ? '[' . $host . ']' : $host; } private static function query(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $query): array { $result = []; foreach (\explode('&', $query) as $pair) { if ($pair === '') { continue; } $equals = \strpos($pair, '='); if ($equals === false || $equals === 0) { throw InvalidConfiguration::malformed($text, 'its query must be name=value pairs', 'write for example ?prefix=shop&budget=256M'); } $name = \rawurldecode(\substr($pair, 0, $equals)); if (isset($result[$name])) { throw InvalidConfiguration::malformed($text, 'it gives an option twice' . (\in_array($name, Options::NAMES, true) ? ', "' . $name . '"' : ''), 'keep one of the two'); } $result[$name] = \rawurldecode(\substr($pair, $equals + 1)); } return $result; } private static function file(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $rest): string { $path = $rest === '' ? '' : self::directory($text, 'segment', $rest); if ($path !== '' && ($rest[\strlen($rest) - 1] === '/' || \strrpos($path, '/') === 0)) { throw InvalidConfiguration::malformed($text, 'a segment is a file, in a directory of its own', 'write segment:///dev/shm/app/segment'); } return $path; } private static function directory(#[\SensitiveParameter] string $text, string $scheme, #[\SensitiveParameter] string $rest): string { if ($rest === '') { return ''; } if (($rest[0] !== '/' || ($rest[2] ?? '') === ':') && \preg_match('~^/?[A-Za-z]:[\\\\/]|^\\\\~', $rest) === 1) { throw InvalidConfiguration::windows($text); } if ($rest[0] !== '/') { throw InvalidConfiguration::malformed( $text, 'its directory is not absolute', 'write three slashes and the whole path, as in ' . $scheme . ':///' . (InvalidConfiguration::isHarmless($rest) && !\str_contains($text, '@') ? $rest : 'var/cache/app'), ); } $path = \str_contains($rest, '%') ? \rawurldecode($rest) : $rest; if (\str_contains($path, "\0")) { throw InvalidConfiguration::malformed($text, 'its path contains a NUL byte', 'remove it'); } $path = \rtrim($path, '/'); if ($path === '') { throw InvalidConfiguration::malformed($text, 'it names the root directory', 'give Larder a directory of its own, as in ' . $scheme . ':///var/cache/app'); } return $path; } private static function redis(#[\SensitiveParameter] string $text, string $scheme, #[\SensitiveParameter] string $rest, #[\SensitiveParameter] array $query): self { $slash = \strpos($rest, '/'); $authority = $slash === false ? $rest : \substr($rest, 0, $slash); $path = $slash === false ? '' : \rawurldecode(\substr($rest, $slash)); $user = $password = null; $at = \strrpos($authority, '@'); if ($at !== false) { [$user, $password] = self::credentials($text, $scheme, \substr($authority, 0, $at)); $authority = \substr($authority, $at + 1); } elseif (\str_contains($path, '@')) { throw InvalidConfiguration::malformed($text, 'its user or password contains a "/"', 'write %2F for "/", %40 for "@" and %3F for "?" in a user or password'); } if (\str_contains($authority, ',')) { throw InvalidConfiguration::cluster($text); } $db = null; if (isset($query['db'])) { $db = self::number($text, $query['db']); unset($query['db']); } if ($authority === '') { if ($path === '' || $path === '/') { throw InvalidConfiguration::malformed($text, 'it names no server', 'write ' . $scheme . '://127.0.0.1:6379/0, or ' . $scheme . ':///run/redis.sock for a socket'); } if (\preg_match('/^\d+$/D', \substr($path, 1)) === 1) { throw InvalidConfiguration::malformed($text, 'it has a database number and no server', 'write ' . $scheme . '://127.0.0.1:6379' . $path); } if ($scheme === 'rediss' || $scheme === 'predis+tls') { throw InvalidConfiguration::malformed($text, 'there is no TLS over a socket', 'write ' . ($scheme === 'rediss' ? 'redis' : 'predis') . '://' . (InvalidConfiguration::isHarmless($path) ? $path : '/run/redis.sock')); } return new self($scheme, $path, db: $db ?? 0, user: $user, password: $password, query: $query); } [$host, $port] = self::address($text, $authority, self::REDIS_PORT); if ($path !== '' && $path !== '/') { if (\preg_match('/^\d+$/D', \substr($path, 1)) !== 1) { throw InvalidConfiguration::malformed( $text, 'after the host comes the number of a database', 'write ' . $scheme . '://' . $authority . '/0, or for a socket three slashes: ' . $scheme . ':///' . (InvalidConfiguration::isHarmless($path) ? $authority . $path : 'run/redis.sock'), ); } if ($db !== null) { throw InvalidConfiguration::malformed($text, 'it gives the database twice', 'keep either ' . $path . ' or ?db=' . $db); } $db = self::number($text, \substr($path, 1)); } return new self($scheme, '', $host, $port, [], $db ?? 0, $user, $password, $query); } private static function credentials(#[\SensitiveParameter] string $text, string $scheme, #[\SensitiveParameter] string $part): array { $colon = \strpos($part, ':'); if ($colon === false) { throw InvalidConfiguration::malformed($text, 'it has one word before the "@"', 'write ' . $scheme . '://:password@host or ' . $scheme . '://user:password@host'); } $password = \rawurldecode(\substr($part, $colon + 1)); if ($password === '') { throw InvalidConfiguration::malformed($text, 'its password is empty', 'leave out everything up to the "@", or write the password (is the variable it comes from set?)'); } $user = \rawurldecode(\substr($part, 0, $colon)); return [$user === '' ? null : $user, $password]; } private static function memcached(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $rest): array { if (\str_contains($rest, '@')) { throw InvalidConfiguration::malformed($text, 'Larder does not log in to Memcached', 'leave out the user and password, and let Memcached listen on a socket or a private network'); } $servers = []; foreach (\explode(',', $rest) as $part) { if ($part !== '' && $part[0] === '/' && $part !== '/') { $server = [\rawurldecode($part), 0]; } else { $slash = \strpos($part, '/'); if ($slash !== false && $slash !== \strlen($part) - 1) { throw InvalidConfiguration::malformed($text, 'Memcached has no databases', 'leave out what follows the host, or write three slashes for a socket: memcached:///run/memcached.sock'); } $part = \rtrim($part, '/'); if ($part === '') { throw InvalidConfiguration::malformed($text, 'it names no server', 'write memcached://127.0.0.1:11211, or memcached:///run/memcached.sock for a socket'); } $server = self::address($text, $part, self::MEMCACHED_PORT); } if (\in_array($server, $servers, true)) { throw InvalidConfiguration::malformed($text, 'it names a server twice', 'keep "' . $part . '" once'); } $servers[] = $server; } return $servers; } private static function address(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $address, int $port): array { if ($address[0] === '[') { $end = \strpos($address, ']'); if ($end === false || \preg_match('/^[0-9A-Fa-f:.]+(?:%[\w.-]+)?$/', \substr($address, 1, $end - 1)) !== 1) { throw InvalidConfiguration::malformed($text, 'its IPv6 address is not one', 'write it in brackets, as in [::1]:' . $port); } $host = \substr($address, 1, $end - 1); $tail = \substr($address, $end + 1); } else { $colon = \strpos($address, ':'); $host = $colon === false ? $address : \substr($address, 0, $colon); $tail = $colon === false ? '' : \substr($address, $colon); if (\strpos($tail, ':', 1 - (int) ($tail === '')) !== false) { throw InvalidConfiguration::malformed($text, 'it has two colons in its address', 'write an IPv6 address in brackets, as in [::1]:' . $port); } if (\preg_match('/^[\w.-]+$/', $host) !== 1) { throw InvalidConfiguration::malformed($text, 'its host is not a host name', 'write a name or an address, as in 127.0.0.1:' . $port); } } if ($tail !== '') { $digits = \substr($tail, 1); if ($tail[0] !== ':' || \preg_match('/^\d+$/D', $digits) !== 1 || \strlen($digits) > 5 || (int) $digits < 1 || (int) $digits > 65535) { throw InvalidConfiguration::malformed($text, 'its port is not a number from 1 to 65535', 'write for example 127.0.0.1:' . $port); } $port = (int) $digits; } return [$host, $port]; } private static function number(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $digits): int { if (\preg_match('/^\d+$/D', $digits) !== 1 || \strlen($digits) > 5) { throw InvalidConfiguration::malformed($text, 'its database is not a number', 'write 0, the number Redis starts with, or another below its "databases" setting'); } return (int) $digits; } }
}
}
namespace Larder\Config {
use Larder\Driver\Redis\Endpoint; use Larder\Driver\Redis\PhpRedisConnection; use Larder\Driver\Redis\PredisConnection; use Larder\Store\File\FileStore; use Larder\Store\Memcached\MemcachedStore; use Larder\Store\MemoryStore; use Larder\Store\Redis\RedisStore; use Larder\Store\Sqlite\SqliteStore; use Larder\Store\Store; use Larder\Store\StoreBusy; use Larder\System\Failure; use Larder\System\Ownership; use Larder\System\WrongUser; 
if (!\class_exists('larder\config\storefactory', false)) {
final class StoreFactory { public static function make(Dsn $dsn, Options $options, bool $spare = false, ?string $prepared = null): Store { switch ($dsn->scheme) { case 'sqlite': case 'file': $directory = self::directory($dsn, $options); $directory === $prepared || Directory::prepare($directory); \PHP_SAPI === 'cli' || require __DIR__ . '/store.php'; return $dsn->scheme === 'sqlite' ? new SqliteStore($directory, $options->budget, $options->timeout, $spare) : new FileStore($directory, $options->budget, $options->timeout); case 'memory': if ($spare) { throw StoreBusy::because('memory', 'it is one array, and in use'); } return new MemoryStore($options->nearBudget); case 'memcached': return new MemcachedStore($dsn->servers, $options->prefix, $options->timeout); default: \PHP_SAPI === 'cli' || require __DIR__ . '/redis.php'; return new RedisStore(self::redis($dsn, $options->timeout), $options->prefix); } } public static function directory(Dsn $dsn, Options $options): string { $path = $dsn->path === '' ? Directory::default() : $dsn->path; return $options->prefix === Options::PREFIX ? $path : $path . '/prefix-' . $options->prefix; } public static function runtime(Options $options): string { if ($options->disk !== null) { $path = self::directory($options->disk, $options); Ownership::isPrivate($path) || Directory::prepare($path); return $path; } $path = Directory::default(); try { Directory::prepare($path); } catch (InvalidConfiguration|WrongUser $e) { throw Failure::because('directory', $e->getMessage()); } return $path; } public static function redis(Dsn $dsn, float $timeout, bool $isKept = false): PhpRedisConnection|PredisConnection { $endpoint = new Endpoint( host: $dsn->host, port: $dsn->port, socket: $dsn->path === '' ? null : $dsn->path, db: $dsn->db, user: $dsn->user, password: $dsn->password, tls: $dsn->scheme === 'rediss' || $dsn->scheme === 'predis+tls', timeout: $timeout, isKept: $isKept, ); if (($dsn->scheme === 'redis' || $dsn->scheme === 'rediss') && \extension_loaded('redis')) { return new PhpRedisConnection($endpoint); } return new PredisConnection($endpoint); } public static function mark(Options $options): string { $truth = $options->truth; return self::markOf($options->prefix, Dsn::TIERS[$truth->scheme] === 'disk' ? self::directory($truth, $options) : $truth->toString(), Ownership::user()); } public static function markOf(string $prefix, string $place, int $user): string { return \substr(\md5("$user $prefix $place"), 0, 8); } }
}
}
namespace Larder\Driver\Redis {
use Larder\System\Failure; use Larder\System\Process; use Larder\System\Quiet; 
if (!\class_exists('larder\driver\redis\redisconnection', false)) {
abstract class RedisConnection { private const IDLE = 1_000_000_000; private static array $parents = []; private bool $open = false; private bool $busy = false; private int $number = 0; private int $process = 0; public int $used = 0; protected readonly int $timeout; protected int $until = 0; protected bool $isShort = false; private int $end = 0; private readonly bool $forks; final public function __construct(protected readonly Endpoint $endpoint) { $this->forks = Process::forks(); $this->timeout = (int) ($endpoint->timeout * 1e9); } final public function begin(): void { $this->end = (int) \hrtime(true) + $this->timeout; } final protected function left(): float { return \max(0.001, ($this->until - (int) \hrtime(true)) / 1e9); } private function start(): void { $now = (int) \hrtime(true); $this->until = $this->end > $now ? $this->end : $now + $this->timeout; $this->isShort = true; } abstract protected function open(): bool; abstract protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array; protected function exchangeOne(#[\SensitiveParameter] array $command): mixed { return $this->exchange([$command], 0)[0]; } abstract protected function release(): ?object; abstract protected function shut(object $handle): void; abstract protected function isFailure(\Throwable $e): bool; final public function ready(): int { if ($this->open && !$this->busy && \hrtime(true) - $this->used < self::IDLE && (!$this->forks || $this->process === Process::id())) { return $this->number; } if ($this->busy && $this->isOpen()) { $this->open = false; $this->release(); } elseif ($this->isOpen()) { if ($this->isAlive()) { return $this->number; } } elseif ($this->open) { self::$parents[] = $this->release(); $this->open = false; } $this->connect(); return $this->number; } final public function isOpen(): bool { return $this->open && $this->process === Process::id(); } final public function run(array $commands, int $attempts = 0): array { if (!$this->open || ($this->forks && $this->process !== Process::id())) { throw $this->failure('the connection was lost'); } $this->busy = true; Quiet::begin(); try { $this->start(); $replies = $attempts === 0 && \count($commands) === 1 ? [$this->exchangeOne($commands[0])] : $this->exchange($commands, $attempts); $this->used = (int) \hrtime(true); if ($this->used > $this->until + $this->timeout) { throw $this->late(); } } catch (\Throwable $e) { $this->close(); throw $this->isFailure($e) ? $this->translate('no answer', $e) : $e; } finally { Quiet::end(); } $this->busy = false; return $replies; } final public function ask(array $command, int $number, bool $begins = true): mixed { $now = (int) \hrtime(true); if ($this->number !== $number || !$this->open || $this->busy || $now - $this->used >= self::IDLE || ($this->forks && $this->process !== Process::id())) { return false; } $this->busy = true; Quiet::begin(); try { if ($begins) { $this->until = $this->end = $now + $this->timeout; } else { $this->start(); } $reply = $this->exchangeOne($command); if (\hrtime(true) > $this->until + $this->timeout) { throw $this->late(); } } catch (\Throwable $e) { $this->close(); throw $this->isFailure($e) ? $this->translate('no answer', $e) : $e; } finally { Quiet::end(); } $this->used = $now; $this->busy = false; return $reply; } final public function close(): void { if (!$this->open) { return; } $ours = $this->isOpen(); $this->open = false; $handle = $this->release(); if (!$ours) { self::$parents[] = $handle; } elseif ($handle !== null) { Quiet::begin(); try { $this->shut($handle); } catch (\Throwable $e) { if (!$this->isFailure($e)) { throw $e; } } finally { Quiet::end(); } } } final protected function closeIfCutOff(): void { \register_shutdown_function(function (): void { $this->busy && $this->close(); }); } private function late(): Failure { return $this->failure('no answer within ' . $this->endpoint->timeout . ' s'); } final public function failure(string $what, ?\Throwable $cause = null): Failure { $told = $cause === null ? '' : $cause->getMessage(); if ($told !== $this->endpoint->withoutPassword($told)) { $what .= ' (' . $told . ')'; $cause = null; } return Failure::because($this->name(), $this->endpoint->withoutPassword($what), $cause); } final public function refusal(string $error): Failure { $kind = \strstr($error . ' ', ' ', true); if ($kind === 'ERR' && \str_contains($error, 'unauthenticated')) { $kind = 'NOAUTH'; } if (\str_contains($error, 'unknown command')) { $error = \explode(', with args', $error)[0]; $kind = 'unknown'; } $advice = match ($kind) { 'NOAUTH', 'WRONGPASS' => '; give user and password in the DSN', 'unknown' => '; remove its rename-command from the server\'s configuration', 'NOPERM' => '; the ACL user needs ~<prefix>:* and +@read +@write +@scripting +@connection +info', 'READONLY' => '; this is a replica, name the primary instead', 'MISCONF' => '; the server cannot save to its disk', 'MOVED', 'ASK', 'CLUSTERDOWN', 'CROSSSLOT' => '; Redis Cluster is not supported', default => '', }; return ErrorReply::because($this->name(), $this->endpoint->withoutPassword('the server refused: ' . $error . $advice)); } private function name(): string { return 'Redis at ' . $this->endpoint->name(); } private function translate(string $what, \Throwable $e): Failure { return \preg_match('/^[A-Z]{2,} /', $e->getMessage()) === 1 ? $this->refusal($e->getMessage()) : $this->failure($what, $e); } private function connect(): void { $this->open = $this->busy = true; $this->process = Process::id(); Quiet::begin(); try { $this->start(); $greeting = $this->open() ? [] : $this->endpoint->greeting(); if ($greeting !== []) { $this->start(); $this->exchange($greeting, 0); } } catch (\Throwable $e) { $this->close(); $what = 'no connection' . ($this->endpoint->tls ? '; is its certificate valid for this name?' : ''); throw $this->isFailure($e) ? $this->translate($what, $e) : $e; } finally { Quiet::end(); } ++$this->number; $this->used = (int) \hrtime(true); $this->busy = false; } private function isAlive(): bool { $start = \hrtime(true); try { $this->run([['PING']]); return true; } catch (Failure $e) { if (\hrtime(true) - $start > $this->endpoint->timeout * 5e8) { throw $e; } return false; } } }
}
}
namespace Larder\Driver\Redis {

if (!\class_exists('larder\driver\redis\endpoint', false)) {
final class Endpoint { public function __construct( public readonly string $host = '127.0.0.1', public readonly int $port = 6379, public readonly ?string $socket = null, public readonly int $db = 0, public readonly ?string $user = null, #[\SensitiveParameter] public readonly ?string $password = null, public readonly bool $tls = false, public readonly float $timeout = 0.25, public readonly bool $isKept = false, ) {} public function name(): string { return ($this->socket ?? $this->host . ':' . $this->port) . ($this->db === 0 ? '' : ' db ' . $this->db); } public function withoutPassword(#[\SensitiveParameter] string $text): string { return $this->password === null ? $text : \str_replace($this->password, '***', $text); } public function __debugInfo(): array { return ['password' => $this->password === null ? null : '***'] + \get_object_vars($this); } public function greeting(): array { $commands = []; if ($this->password !== null) { $commands[] = $this->user === null ? ['AUTH', $this->password] : ['AUTH', $this->user, $this->password]; } if ($this->db !== 0) { $commands[] = ['SELECT', (string) $this->db]; } return $commands; } }
}
}
namespace Larder\Driver\Redis {
use Larder\System\Failure; use Larder\System\Process; 
if (!\class_exists('larder\driver\redis\phpredisconnection', false)) {
final class PhpRedisConnection extends RedisConnection { private const FEW = 4; private ?\Redis $redis = null; private float $limit = 0.0; protected function open(): bool { if ($this->endpoint->isKept && Process::canKeep() && \filter_var(\ini_get('redis.pconnect.pooling_enabled'), \FILTER_VALIDATE_BOOL) && $this->takeOver()) { return true; } $redis = new \Redis(); $redis->connect(...$this->address(null)); $this->use($redis); return false; } private function takeOver(): bool { $redis = new \Redis(); $redis->pconnect(...$this->address('larder')); $this->use($redis); $this->closeIfCutOff(); $mark = \bin2hex(\random_bytes(8)); try { $redis->pipeline(); foreach ([['RESET'], ...$this->endpoint->greeting(), ['ECHO', $mark]] as $command) { $redis->rawCommand(...$command); } $replies = $redis->exec(); $isFit = \is_array($replies) && \end($replies) === $mark && !\in_array(false, $replies, true); } catch (\RedisException) { $isFit = false; } $isFit || $redis->close(); return $isFit; } private function address(?string $kept): array { $e = $this->endpoint; return [$e->socket ?? ($e->tls ? 'tls://' : '') . $e->host, $e->socket === null ? $e->port : 0, $this->left(), $kept, 0, $e->timeout]; } private function use(\Redis $redis): void { $redis->setOption(\Redis::OPT_MAX_RETRIES, 0); $redis->setOption(\Redis::OPT_TCP_KEEPALIVE, 1); $this->endpoint->isKept && $redis->setOption(\Redis::OPT_READ_TIMEOUT, $this->endpoint->timeout); $this->redis = $redis; $this->limit = $this->endpoint->timeout; } private function limit(\Redis $redis, int $replies): void { if ($replies > self::FEW) { $this->limit($redis, 1); if ($redis->rawCommand('PING') === false) { throw $this->failure('no answer in time'); } $replies = self::FEW; } $left = $this->left(); $whole = $this->endpoint->timeout; $limit = ($left > 0.9 * $whole ? $whole : $left) / $replies; if ($limit !== $this->limit) { $redis->setOption(\Redis::OPT_READ_TIMEOUT, $limit); $this->limit = $limit; } $this->isShort = $limit !== $whole; } protected function exchangeOne(#[\SensitiveParameter] array $command): mixed { $redis = $this->redis ?? throw $this->failure('not connected'); $this->isShort && $this->limit($redis, 1); $reply = $redis->rawCommand(...$command); return $reply === false ? $this->error($redis) : $reply; } protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array { $redis = $this->redis; if ($redis === null) { throw $this->failure('not connected'); } $this->limit($redis, \count($commands)); $redis->pipeline(); foreach ($commands as $command) { $redis->rawCommand(...$command); } try { $replies = $redis->exec(); } catch (\RedisException $e) { throw $attempts > 0 && \str_starts_with($e->getMessage(), 'OOM') ? new Refused($e->getMessage(), 0, $e) : $e; } if (!\is_array($replies) || \count($replies) !== \count($commands)) { throw $this->failure('the answer broke off'); } $replies = \array_values($replies); for ($i = 0; $i < $attempts; ++$i) { $replies[$i] = $replies[$i] === false ? null : $replies[$i]; } if (\in_array(false, $replies, true)) { $this->error($redis); foreach ($replies as $i => $reply) { $replies[$i] = $reply === false ? null : $reply; } } $attempts === 0 || $redis->clearLastError(); return $replies; } private function error(\Redis $redis): null { $error = (string) $redis->getLastError(); $redis->clearLastError(); return \str_starts_with($error, 'NOSCRIPT') ? null : throw $this->refusal($error); } protected function release(): ?object { $redis = $this->redis; $this->redis = null; return $redis; } protected function shut(object $handle): void { $handle instanceof \Redis && $handle->close(); } protected function isFailure(\Throwable $e): bool { return $e instanceof \RedisException && $e->getFile() === __FILE__; } }
}
}
namespace Larder\Queue {

final class Message { private bool $isDone = false; public function __construct( private readonly Transport $transport, private readonly string $token, public readonly string $id, public readonly mixed $body, public readonly int $attempts, private readonly Retry $retry, ) {} public function ack(): bool { return $this->once(fn(): bool => $this->transport->acknowledge([[$this->id, $this->token]])[0]); } public function release(int|float|null $delay = 0, string $error = ''): bool { $milliseconds = $delay === null ? $this->retry->pause($this->attempts) : Seconds::milliseconds('delay', $delay); return $this->once(fn(): bool => $this->transport->release($this->id, $this->token, $milliseconds, $error)); } public function extend(int|float $seconds): bool { $milliseconds = Seconds::milliseconds('visibility', $seconds, 0.001); return !$this->isDone && $this->transport->extend($this->id, $this->token, $milliseconds); } public function bury(string $error = ''): bool { return $this->once(fn(): bool => $this->transport->bury($this->id, $this->token, $error)); } public function isDone(): bool { return $this->isDone; } public function isLast(): bool { return $this->attempts >= $this->retry->most; } public function claim(): array { return [$this->id, $this->token]; } public function isOf(Transport $transport): bool { return $transport === $this->transport; } public function end(): void { $this->isDone = true; } private function once(\Closure $do): bool { if ($this->isDone) { return false; } $isEnded = $do(); $this->isDone = true; return $isEnded; } }
}
namespace Larder\Queue {

if (!\class_exists('larder\queue\queuefailure', false)) {
class QueueFailure extends \RuntimeException {}
}
}
namespace Larder\Queue {

final class QueueFull extends QueueFailure { public static function holding(string $queue, int $count, int $limit): self { return new self("The queue \"$queue\" holds $count waiting messages, and may hold $limit (option \"limit\"). Start more workers (bin/larder queue:work $queue), or raise the limit."); } public static function retrying(string $queue, int $dead, int $count, int $limit): self { return new self("The queue \"$queue\" holds $count waiting messages, and may hold $limit (option \"limit\"): $dead dead ones cannot wait again. Retry some of them (bin/larder queue:retry $queue ID…), start more workers, or raise the limit."); } }
}
namespace Larder\Queue {
use Larder\Codec\Codec; use Larder\Codec\Signer; use Larder\Config\Directory; use Larder\Config\Dsn; use Larder\Config\InvalidConfiguration; use Larder\Config\Options; use Larder\Config\StoreFactory; use Larder\Driver\Redis\RedisConnection; use Larder\System\Failure; 
final readonly class QueueOptions { private const KNOWN = ['dsn', 'limit', 'attempts', 'keep', 'secret', 'synchronous', 'timeout', 'persistent']; private const SCHEMES = ['sqlite', 'redis', 'rediss', 'predis', 'predis+tls']; private const LIMIT = 1_000_000; private const TIMEOUT = 5.0; private function __construct(private Dsn $dsn, private int $limit, private bool $isFull, private float $timeout, public Codec $codec, public ?Signer $signer, public Retry $retry, private bool $isKept, public int $keep) {} public static function from(#[\SensitiveParameter] string|array $source, string $name): self { if (\preg_match(Queue::NAME, $name) !== 1) { throw new InvalidConfiguration('A queue\'s name has 1 to 64 letters, digits and any of "_ . -", and begins with a letter or a digit. Write for example mail.'); } $options = \is_string($source) ? ['dsn' => $source] : $source; $text = $options['dsn'] ?? null; if (!\is_string($text)) { throw InvalidConfiguration::wrongType('dsn', 'a DSN such as sqlite:///var/lib/queue', $text); } $dsn = Dsn::parse($text, self::SCHEMES); if ($dsn->scheme === 'sqlite' && $dsn->path === '') { throw InvalidConfiguration::malformed($text, 'it names no directory', 'write for example sqlite:///var/lib/app/queue'); } $options += $dsn->query; foreach (\array_keys($options) as $option) { if (!\in_array($option, self::KNOWN, true)) { throw InvalidConfiguration::unknownOption((string) $option, self::KNOWN); } } if (isset($dsn->query['secret'])) { throw InvalidConfiguration::onlyInArray('secret'); } $secret = $options['secret'] ?? null; if ($secret !== null && (!\is_string($secret) || $secret === '')) { throw InvalidConfiguration::emptySecret(); } $isFull = isset($options['synchronous']) && Options::choice('synchronous', $options['synchronous'], ['normal' => '', 'full' => '']) === 'full'; if (isset($options['synchronous']) && $dsn->scheme !== 'sqlite') { throw new NotSupported('Redis has no option "synchronous": how durable a message is says redis.conf (appendonly, appendfsync). Leave the option out.'); } return new self($dsn, self::count($options, 'limit', self::LIMIT), $isFull, (float) self::count($options, 'timeout', (int) self::TIMEOUT), Codec::create(null, null), $secret === null ? null : new Signer($secret), new Retry(self::count($options, 'attempts', 5)), isset($options['persistent']) && Options::persistent($dsn, $options['persistent']), isset($options['keep']) ? (int) \ceil(Options::seconds('keep', $options['keep'], '604800') * 1000) : 0); } public function transport(string $name): Transport { \PHP_SAPI === 'cli' && \array_map(\class_exists(...), [QueueFull::class, Failure::class, Seconds::class, Message::class]); $dsn = $this->dsn; if ($dsn->scheme === 'sqlite') { $dsn->needs(); Directory::prepare($dsn->path); return new SqliteTransport($dsn->path, $name, $this->limit, $this->retry, $this->isFull, $this->timeout); } if (Dsn::TIERS[$dsn->scheme] === 'far' && $dsn->servers === []) { $dsn->needs(); return new RedisTransport(static fn(float $timeout, bool $isKept): RedisConnection => StoreFactory::redis($dsn, $timeout, $isKept), $this->timeout, $name, $this->limit, $this->retry, $this->isKept); } throw new InvalidConfiguration('"' . $dsn->toString() . '" cannot hold a queue. Write sqlite:///directory, redis://host or predis://host.'); } private static function count(array $options, string $name, int $default): int { if (!isset($options[$name])) { return $default; } $value = \filter_var($options[$name], \FILTER_VALIDATE_INT, ['options' => ['min_range' => 1]]); return \is_int($value) ? $value : throw InvalidConfiguration::wrongType($name, 'a whole number above zero', $options[$name]); } }
}
namespace Larder\Queue {

final class RedisScript { public const LOOK = 1_000; public const PUSH = <<<'LUA'
        local base = KEYS[1]
        local state = redis.call('HMGET', base, 'n', 'w', 'p')
        local last, waiting = tonumber(state[1] or 0), tonumber(state[2] or 0)
        local time = redis.call('TIME')
        local first, ids, known = math.max(last, time[1] * 1000000 + time[2]), {}, {}
        local n = first
        for i = 4, #ARGV, 4 do
          local key = ARGV[i + 2]
          local id = key ~= '' and (known[key] or redis.call('HGET', base .. ':k', key))
          if not id then
            n = n + 1
            id = string.format('%.0f', n)
            known[key] = key ~= '' and id or nil
          end
          ids[#ids + 1] = id
        end
        if n == first then return ids end
        if waiting + n - first > tonumber(ARGV[1]) then return waiting end
        if math.floor(last / 1000000) ~= math.floor(n / 1000000) then
          local memory = redis.pcall('INFO', 'memory')
          if type(memory) == 'string' and string.find(memory, 'maxmemory_policy:allkeys', 1, true) and not string.find(memory, 'maxmemory:0\r', 1, true) then
            return redis.error_reply('EVICTS its maxmemory-policy may evict a queue; set noeviction or a volatile policy, or use a server of its own')
          end
        end
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('HSET', base, 'n', n, 'w', waiting + n - first)
        local added, isDue = first, false
        for i = 4, #ARGV, 4 do
          local id = ids[i / 4]
          if tonumber(id) > added then
            added = tonumber(id)
            local delay, priority, key = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
            local message = id .. string.format(' %x %d ', math.floor((now + delay) / 1000), #key) .. key .. ARGV[i + 3]
            if delay == 0 then
              if redis.call('RPUSH', base .. ':f:' .. priority, message) == 1 then redis.call('ZADD', base .. ':p', 0, priority) end
            else
              redis.call('HSET', base .. ':m', id, message)
              redis.call('ZADD', base .. ':d', now + delay, priority .. string.format('%016.0f', added) .. ':0')
            end
            isDue = isDue or delay < 1000
            if key ~= '' then redis.call('HSET', base .. ':k', key, id) end
          end
        end
        if isDue and state[3] ~= '1' and redis.call('EXISTS', base .. ':wake') == 0 then redis.call('RPUSH', base .. ':wake', '') end
        return ids
        LUA;
public const PUSH_HASH = '9338e36c6d6565fa4962eaeaed0c2b1b4953f96d'; public const PUSH_KEYED = self::COMMON . 'promote(clock(), tonumber(ARGV[2]), tonumber(ARGV[3]))' . "\n" . self::PUSH; private const COMMON = <<<'LUA'
        local base = KEYS[1]
        local function clock()
          local time = redis.call('TIME')
          return time[1] * 1000 + math.floor(time[2] / 1000)
        end
        local function idOf(member) return string.format('%.0f', tonumber(string.sub(member, 17, 32))) end
        local function keyOf(message)
          local length, from = string.match(message, '^%d+ %x+ (%d+) ()')
          return string.sub(message, from, from + length - 1)
        end
        local function wake()
          if redis.call('HGET', base, 'p') ~= '1' and redis.call('EXISTS', base .. ':wake') == 0 then redis.call('RPUSH', base .. ':wake', '') end
        end
        -- Takes a claimed message back. Gives its member without the token, and its attempts; nil if it is not the caller's.
        local function take(claim)
          if redis.call('ZREM', base .. ':c', claim) == 0 then return nil end
          local member, attempts = string.match(claim, '^(%x+:(%d+)):')
          return member, tonumber(attempts)
        end
        local function remove(id)
          redis.call('HDEL', base .. ':m', id)
          redis.call('HDEL', base .. ':e', id)
        end
        -- If another message with its key waits, that one does.
        local function wait(member, due)
          local id = idOf(member)
          local message = redis.call('HGET', base .. ':m', id)
          if not message then return end
          local key = keyOf(message)
          if key ~= '' and redis.call('HSETNX', base .. ':k', key, id) == 0 then
            return remove(id)
          end
          redis.call('ZADD', base .. (due and ':d' or ':r'), due or 0, member)
          redis.call('HINCRBY', base, 'w', 1)
        end
        -- The error is the last that was told.
        local function bury(member, now, told, instead)
          local id = idOf(member)
          if told == '' then
            local before = redis.call('HGET', base .. ':e', id)
            told = before and string.match(before, '^%S+ (.*)$') or instead
          end
          redis.call('ZADD', base .. ':x', now, id)
          redis.call('HSET', base .. ':e', id, member .. ' ' .. told)
        end
        -- Lets messages wait again whose time has come. Gives in how many milliseconds, below a second, the next is due; 0 if there
        -- are more already.
        local function promote(now, attempts, most)
          local look = 1000
          for _, name in ipairs({':d', ':c'}) do
            local list = redis.call('ZRANGEBYSCORE', base .. name, '-inf', now + 999, 'WITHSCORES', 'LIMIT', 0, most + 1)
            for i = 1, #list, 2 do
              local left = math.max(0, list[i + 1] - now)
              if left > 0 or i > 2 * most then
                look = math.min(look, left)
                break
              end
              if name == ':d' then
                redis.call('ZREM', base .. name, list[i])
                redis.call('ZADD', base .. ':r', 0, list[i])
              else
                local member, made = take(list[i])
                if made < attempts then wait(member) else bury(member, now, '', 'Nobody acknowledged it in time, after ' .. made .. ' of ' .. attempts .. ' attempts.') end
              end
            end
          end
          return look
        end
        -- The next message: it and the priority of its list, or its member in r.
        local function first()
          local late = redis.call('ZRANGE', base .. ':r', 0, 0)[1]
          while true do
            local priority = redis.call('ZRANGE', base .. ':p', 0, 0)[1]
            if not priority then return nil, nil, late end
            local head = redis.call('LINDEX', base .. ':f:' .. priority, 0)
            if head and late and late < priority .. string.format('%016.0f', tonumber(string.match(head, '^%d+'))) then return nil, nil, late end
            if head then return head, priority end
            redis.call('ZREM', base .. ':p', priority)
          end
        end

        LUA;
public const CLAIM = self::COMMON . <<<'LUA'
        for i = 6, #ARGV do
          if take(ARGV[i]) then remove(idOf(ARGV[i])) end
        end
        if redis.call('HGET', base, 'p') == '1' then
          redis.call('DEL', base .. ':wake')
          return {1000}
        end
        local now, most = clock(), tonumber(ARGV[1])
        local look = promote(now, tonumber(ARGV[4]), tonumber(ARGV[5]))
        local reply = {look}
        while #reply < 2 * most do
          local message, priority, late = first()
          local id, attempts = nil, 1
          if message then
            id = string.match(message, '^%d+')
            redis.call('LTRIM', base .. ':f:' .. priority, 1, -1)
            redis.call('HSET', base .. ':m', id, message)
          elseif late then
            redis.call('ZREM', base .. ':r', late)
            id, priority, attempts = idOf(late), string.sub(late, 1, 16), tonumber(string.match(late, ':(%d+)')) + 1
            message = redis.call('HGET', base .. ':m', id)
          else
            break
          end
          if message then
            local key = keyOf(message)
            if key ~= '' and redis.call('HGET', base .. ':k', key) == id then redis.call('HDEL', base .. ':k', key) end
            local claim = priority .. string.format('%016.0f', tonumber(id)) .. ':' .. attempts .. ':' .. ARGV[3]
            redis.call('ZADD', base .. ':c', now + ARGV[2], claim)
            reply[#reply + 1] = claim
            reply[#reply + 1] = message
          end
        end
        local taken = (#reply - 1) / 2
        local waiting = taken > 0 and redis.call('HINCRBY', base, 'w', -taken) or 0
        -- Who gets a message leaves the watch to another: over what is ready, and over what will be soon.
        if taken > 0 and (look < 1000 or taken == most and waiting > redis.call('ZCARD', base .. ':d')) then
          wake()
        else
          redis.call('DEL', base .. ':wake')
        end
        return reply
        LUA;
public const ACKNOWLEDGE = self::COMMON . <<<'LUA'
        local reply = {}
        for i = 1, #ARGV do
          reply[i] = take(ARGV[i]) and 1 or 0
          if reply[i] == 1 then remove(idOf(ARGV[i])) end
        end
        return reply
        LUA;
public const RELEASE = self::COMMON . <<<'LUA'
        local member, attempts = take(ARGV[1])
        if not member then return 0 end
        local delay = tonumber(ARGV[2])
        if attempts >= tonumber(ARGV[3]) then
          bury(member, clock(), ARGV[4], 'It was given back, after ' .. attempts .. ' of ' .. ARGV[3] .. ' attempts.')
        else
          if ARGV[4] ~= '' then redis.call('HSET', base .. ':e', idOf(member), member .. ' ' .. ARGV[4]) end
          wait(member, delay > 0 and clock() + delay)
          if delay < 1000 then wake() end
        end
        return 1
        LUA;
public const EXTEND = self::COMMON . <<<'LUA'
        if not take(ARGV[1]) then return 0 end
        redis.call('ZADD', base .. ':c', clock() + ARGV[2], ARGV[1])
        return 1
        LUA;
public const BURY = self::COMMON . <<<'LUA'
        local member = take(ARGV[1])
        if not member then return 0 end
        bury(member, clock(), ARGV[2], '')
        return 1
        LUA;
public const STATS = self::COMMON . <<<'LUA'
        local now = clock()
        local look = promote(now, tonumber(ARGV[1]), tonumber(ARGV[2]))
        local message, _, late = first()
        message = message or late and redis.call('HGET', base .. ':m', idOf(late))
        return {
          look, tonumber(redis.call('HGET', base, 'w') or 0), redis.call('ZCARD', base .. ':d'), redis.call('ZCARD', base .. ':c'),
          redis.call('ZCARD', base .. ':x'), redis.call('HGET', base, 'p') == '1' and 1 or 0,
          message and math.max(0, math.floor(now / 1000) - tonumber(string.match(message, '^%d+ (%x+)'), 16)) or -1,
        }
        LUA;
public const DEAD = self::COMMON . <<<'LUA'
        promote(clock(), tonumber(ARGV[2]), tonumber(ARGV[3]))
        local reply = {}
        local list = redis.call('ZRANGE', base .. ':x', 0, ARGV[1], 'WITHSCORES')
        for i = 1, #list, 2 do
          local message, why = redis.call('HGET', base .. ':m', list[i]), redis.call('HGET', base .. ':e', list[i])
          if message and why then reply[#reply + 1] = {list[i], list[i + 1], message, why} end
        end
        return reply
        LUA;
public const RETRY = self::COMMON . <<<'LUA'
        local list, known = {}, {}
        for i = 3, #ARGV do
          local id = ARGV[i]
          local why, message = redis.call('HGET', base .. ':e', id), redis.call('HGET', base .. ':m', id)
          if why and message and not known[id] and redis.call('ZSCORE', base .. ':x', id) then
            local key = keyOf(message)
            if key == '' or not known['k' .. key] and redis.call('HEXISTS', base .. ':k', key) == 0 then
              known[id] = true
              known['k' .. key] = key ~= '' or nil
              list[#list + 1] = {id, string.sub(why, 1, 32) .. ':0'}
            end
          end
        end
        local waiting = tonumber(redis.call('HGET', base, 'w') or 0)
        local all = #list + tonumber(ARGV[2])
        if all > 0 and waiting + all > tonumber(ARGV[1]) then return {-all, waiting} end
        for _, dead in ipairs(list) do
          redis.call('ZREM', base .. ':x', dead[1])
          redis.call('HDEL', base .. ':e', dead[1])
          wait(dead[2])
        end
        if #list > 0 then wake() end
        return {#list, waiting}
        LUA;
public const REMOVE_DEAD = self::COMMON . <<<'LUA'
        local before, count = clock() - ARGV[1], 0
        local list = {unpack(ARGV, 3)}
        if #list == 0 then list = redis.call('ZRANGEBYSCORE', base .. ':x', '-inf', before, 'LIMIT', 0, ARGV[2]) end
        for _, id in ipairs(list) do
          local died = redis.call('ZSCORE', base .. ':x', id)
          if died and tonumber(died) <= before then
            redis.call('ZREM', base .. ':x', id)
            remove(id)
            count = count + 1
          end
        end
        return count
        LUA;
public const PURGE = self::COMMON . <<<'LUA'
        promote(clock(), tonumber(ARGV[2]), tonumber(ARGV[3]))
        local count = 0
        for _, priority in ipairs(redis.call('ZRANGE', base .. ':p', 0, -1)) do
          count = count + redis.call('LLEN', base .. ':f:' .. priority)
          redis.call('UNLINK', base .. ':f:' .. priority)
        end
        redis.call('UNLINK', base .. ':p', base .. ':k', base .. ':wake')
        for _, name in ipairs({':r', ':d'}) do
          local list = redis.call('ZRANGE', base .. name, 0, ARGV[1] - 1)
          for _, member in ipairs(list) do
            redis.call('ZREM', base .. name, member)
            remove(idOf(member))
          end
          count = count + #list
        end
        if count > 0 then redis.call('HINCRBY', base, 'w', -count) end
        return {count, redis.call('ZCARD', base .. ':r') + redis.call('ZCARD', base .. ':d')}
        LUA;
public const PAUSE = self::COMMON . <<<'LUA'
        if ARGV[1] == '1' then
          redis.call('DEL', base .. ':wake')
          redis.call('HSET', base, 'p', 1)
        else
          redis.call('HDEL', base, 'p')
          wake()
        end
        return 1
        LUA;
}
}
namespace Larder\Queue {

interface Transport { public function push(array $messages): array; public function claim(int $most, int $visibility, array $acknowledged = []): array; public function acknowledge(array $claims): array; public function release(string $id, string $token, int $delay, string $error): bool; public function extend(string $id, string $token, int $visibility): bool; public function bury(string $id, string $token, string $error): bool; public function size(): int; public function stats(): array; public function dead(int $limit): array; public function retryDead(array $ids): int; public function removeDead(array $ids, int $age): int; public function purge(): int; public function pause(bool $isPaused): void; public function wait(int $milliseconds): void; }
}
namespace Larder\Queue {
use Larder\Driver\Redis\ErrorReply; use Larder\Driver\Redis\RedisConnection; use Larder\System\Failure; 
final class RedisTransport implements Transport { private const PROMOTED = '200'; private const STEP = 1_000; private readonly string $base; private readonly RedisConnection $connection; private array $hashes = [RedisScript::PUSH => RedisScript::PUSH_HASH]; private int $look = RedisScript::LOOK; public function __construct( private readonly \Closure $connect, private readonly float $timeout, private readonly string $queue, private readonly int $limit, private readonly Retry $retry, bool $isKept = false, ) { $this->connection = $connect($timeout, $isKept); $this->base = "larder:queue:{{$queue}}"; } public function push(array $messages): array { $arguments = [(string) $this->limit, (string) $this->retry->most, self::PROMOTED]; $script = RedisScript::PUSH; foreach ($messages as $message) { $script = $message['key'] === null ? $script : RedisScript::PUSH_KEYED; \array_push($arguments, (string) $message['delay'], self::priority($message['priority']), $message['key'] ?? '', $message['body']); } $reply = $this->run($script, $arguments); if (\is_int($reply)) { throw QueueFull::holding($this->queue, $reply, $this->limit); } return \array_map($this->outside(...), self::texts($reply)); } public function claim(int $most, int $visibility, array $acknowledged = []): array { $reply = $this->run(RedisScript::CLAIM, [ (string) $most, (string) $visibility, \bin2hex(\random_bytes(8)), (string) $this->retry->most, self::PROMOTED, ...\array_column($acknowledged, 1), ]); if (!\is_array($reply)) { return []; } $this->look = \is_int($reply[0] ?? null) ? $reply[0] : RedisScript::LOOK; $claimed = []; for ($i = 1; $i + 1 < \count($reply); $i += 2) { [$claim, $message] = self::texts([$reply[$i], $reply[$i + 1]]); [$id, $body] = self::parts($message); $claimed[] = ['id' => $this->outside($id), 'token' => $claim, 'body' => $body, 'attempts' => self::attempts($claim)]; } return $claimed; } public function acknowledge(array $claims): array { return \array_map(static fn(mixed $done): bool => $done === 1, self::list($this->run(RedisScript::ACKNOWLEDGE, \array_column($claims, 1)))); } public function release(string $id, string $token, int $delay, string $error): bool { return $this->run(RedisScript::RELEASE, [$token, (string) $delay, (string) $this->retry->most, self::error($error)]) === 1; } public function extend(string $id, string $token, int $visibility): bool { return $this->run(RedisScript::EXTEND, [$token, (string) $visibility]) === 1; } public function bury(string $id, string $token, string $error): bool { return $this->run(RedisScript::BURY, [$token, self::error($error)]) === 1; } public function size(): int { $stats = $this->stats(); return $stats['ready'] + $stats['delayed']; } public function stats(): array { do { [$look, $waiting, $delayed, $claimed, $dead, $isPaused, $late] = \array_map(self::number(...), self::list($this->run(RedisScript::STATS, [(string) $this->retry->most, self::PROMOTED]))) + \array_fill(0, 7, 1); } while ($look === 0); return ['ready' => $waiting - $delayed, 'delayed' => $delayed, 'claimed' => $claimed, 'dead' => $dead, 'paused' => $isPaused === 1, 'late' => $late < 0 ? null : (float) $late]; } public function dead(int $limit): array { $dead = []; foreach ($limit < 1 ? [] : self::list($this->run(RedisScript::DEAD, [(string) ($limit - 1), (string) $this->retry->most, self::PROMOTED])) as $row) { [$id, $at, $message, $why] = self::texts($row); [$member, $error] = \explode(' ', $why, 2); $dead[] = ['id' => $this->outside($id), 'body' => self::parts($message)[1], 'attempts' => self::attempts($member), 'error' => $error, 'at' => (int) $at]; } return $dead; } public function retryDead(array $ids): int { $ids = $ids === [] ? self::texts($this->send(['ZRANGE', "$this->base:x", '0', '-1'])) : $this->inside($ids); $count = 0; for ($i = 0; $i < \count($ids); $i += self::STEP) { [$more, $waiting] = self::list($this->run(RedisScript::RETRY, [(string) $this->limit, (string) \max(0, \count($ids) - $i - self::STEP), ...\array_slice($ids, $i, self::STEP)])) + [0, 0]; if (self::number($more) < 0) { throw QueueFull::retrying($this->queue, -self::number($more), self::number($waiting), $this->limit); } $count += self::number($more); } return $count; } public function removeDead(array $ids, int $age): int { $count = 0; if ($ids === []) { do { $some = self::number($this->run(RedisScript::REMOVE_DEAD, [(string) $age, (string) self::STEP])); $count += $some; } while ($some === self::STEP); return $count; } foreach (\array_chunk($this->inside($ids), self::STEP) as $some) { $count += self::number($this->run(RedisScript::REMOVE_DEAD, [(string) $age, '0', ...$some])); } return $count; } private function inside(array $ids): array { return \array_map(fn(string $id): string => \str_starts_with($id, "$this->queue-") ? \substr($id, \strlen($this->queue) + 1) : '', $ids); } public function purge(): int { $count = 0; do { [$removed, $left] = self::list($this->run(RedisScript::PURGE, [(string) self::STEP, (string) $this->retry->most, self::PROMOTED])) + [0, 0]; $count += self::number($removed); } while (self::number($left) > 0); return $count; } public function pause(bool $isPaused): void { $this->run(RedisScript::PAUSE, [(string) (int) $isPaused]); } public function wait(int $milliseconds): void { $most = \min(RedisScript::LOOK, (int) ($this->timeout * 500)); $milliseconds = \min($milliseconds, $this->look); $command = ['BLPOP', "$this->base:wake", \sprintf('%.3F', $most / 1000)]; if ($milliseconds >= $most) { $this->send($command, 1); return; } $connection = ($this->connect)(\max(1, $milliseconds) / 1000, false); try { $connection->ready(); $connection->run([$command], 1); } catch (Failure) { } finally { $connection->close(); } } private function run(string $script, array $arguments): mixed { return $this->send(['EVALSHA', $this->hashes[$script] ??= \sha1($script), '1', $this->base, ...$arguments]) ?? $this->send(['EVAL', $script, '1', $this->base, ...$arguments]); } private function send(#[\SensitiveParameter] array $command, int $attempts = 0): mixed { try { $this->connection->ready(); } catch (Failure $failure) { throw new QueueFailure($failure->getMessage() . '; nothing was done.', 0, $failure); } try { return $this->connection->run([$command], $attempts)[0]; } catch (ErrorReply $refusal) { throw new QueueFailure($refusal->getMessage() . '; nothing was done.', 0, $refusal); } catch (Failure $failure) { throw new QueueFailure($failure->getMessage() . '; the server may have done it or not.', 0, $failure); } } private static function priority(int $priority): string { return \sprintf('%016x', ~($priority ^ \PHP_INT_MIN)); } private static function attempts(string $member): int { return (int) \substr($member, 33); } private function outside(string $id): string { return "$this->queue-$id"; } private static function parts(string $message): array { [$id, $time, $length] = \explode(' ', $message, 4) + ['', '', '0']; return [$id, \substr($message, \strlen("$id $time $length ") + (int) $length)]; } private static function error(string $error): string { return \substr($error, 0, 8_000); } private static function number(mixed $reply): int { return \is_int($reply) ? $reply : 0; } private static function list(mixed $reply): array { return \is_array($reply) ? \array_values($reply) : []; } private static function texts(mixed $reply): array { return \array_map(static fn(mixed $text): string => \is_scalar($text) ? (string) $text : '', self::list($reply)); } }
}
namespace Larder\Queue {

final readonly class Retry { public function __construct(public int $most = 5, private int $first = 1_000, private int $last = 3_600_000) {} public function pause(int $attempts): int { $pause = (int) \min($this->last, $this->first * 2 ** \min(30, \max(0, $attempts - 1))); return $pause + \random_int(0, \max(1, \intdiv($pause, 5))); } }
}
namespace Larder\Queue {

final class Seconds { private const MOST = 315_360_000; public static function milliseconds(string $what, int|float $seconds, float $least = 0): int { if (!($seconds >= $least && $seconds <= self::MOST)) { throw new \InvalidArgumentException("The $what of $seconds seconds is not between $least seconds and ten years."); } return (int) \ceil($seconds * 1000); } }
}
namespace Larder\System {

class Failure extends \RuntimeException { public static function because(string $engine, string $what, ?\Throwable $cause = null): self { return new static($engine . ': ' . $what . ($cause === null ? '' : ' (' . $cause->getMessage() . ')'), 0, $cause); } }
}
