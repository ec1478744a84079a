<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Events\Listener;
use Psr\Log\LoggerInterface;

/**
 * The checked configuration of Cache::open(): the tiers and every option, each with its default.
 *
 * This folder turns a DSN, an array or nothing into tiers. Options and Dsn read the configuration, Directory chooses the
 * directory for files, StoreFactory builds the engines, Assembly builds the tiers, and InvalidConfiguration explains
 * mistakes. Nothing here knows what the tiers do with each other.
 */
final class Options
{
    public const PREFIX = 'larder';
    public const BUDGET = 268_435_456;
    public const NEAR_BUDGET = 67_108_864;
    public const TIMEOUT = 0.25;
    public const LEASE = 30.0;

    public const NAMES = [
        'dsn', 'near', 'disk', 'far', 'prefix', 'serializer', 'compressor', 'budget', 'near_budget', 'timeout', 'lease',
        'secret', 'logger', 'cacheOnly', 'lazy', 'confirm', 'credentials', 'classes', 'fingerprint', 'metrics', 'events',
    ];

    public const SERIALIZERS = ['php' => '', 'igbinary' => 'igbinary', 'msgpack' => 'msgpack'];
    public const COMPRESSORS = ['none' => '', 'zstd' => 'zstd', 'lz4' => 'lz4', 'gzip' => 'zlib'];

    /** Bytes of a budget: an empty database alone takes a tenth of it. */
    private const LEAST = 1 << 20;

    private const UNITS = ['' => 1, 'K' => 1024, 'M' => 1_048_576, 'G' => 1_073_741_824, 'T' => 1_099_511_627_776];

    // Plain properties, which nothing changes after from(): each web request makes this object, and what is as usual costs nothing.
    public ?Dsn $near = null;

    /** Its directory holds what this cache keeps on this server: the truth tier, or the near tier. */
    public ?Dsn $disk = null;
    public ?Dsn $far = null;

    /** The truth tier: the last one. */
    public Dsn $truth;
    public string $prefix = self::PREFIX;

    /** php, igbinary or msgpack; null: the fastest that is loaded and keeps types. */
    public ?string $serializer = null;

    /** none, zstd, lz4 or gzip; null: none. */
    public ?string $compressor = null;

    /** @var bool|list<string> whose objects a value may hold; true: of all; false: none */
    public bool|array $classes = true;

    /** Whether a value is missed if one of its classes has other properties than when it was stored. */
    public bool $fingerprint = false;

    /** Bytes on disk. */
    public int $budget = self::BUDGET;

    /** Bytes of the segment, or of a truth tier in memory (APCu's own is apc.shm_size). */
    public int $nearBudget = self::NEAR_BUDGET;

    /** Seconds that a request waits for an engine, at most. */
    public float $timeout = self::TIMEOUT;

    /** Seconds that a computation may take before another begins. */
    public float $lease = self::LEASE;

    /** Signs the records on a far server. */
    public ?string $secret = null;

    /** @var list<string> that records may be signed with, too */
    public array $formerSecrets = [];
    public ?LoggerInterface $logger = null;

    /** Whether requests count for all processes what they do: see Metrics\OpenMetrics. */
    public bool $metrics = false;

    /** Is told what they do. */
    public ?Listener $events = null;

    /** No database is behind this cache: the last set wins. */
    public bool $cacheOnly = false;

    /** The configuration says near=apcu, and APCu is disabled in this process. */
    public bool $withoutApcu = false;

    /** '': no segment; 'asked': the configuration names it; 'default': no configuration names it; 'missing': the configuration names it, and this PHP lacks the extension. */
    public string $segment = '';

    /** The request's view begins with its first read or write, not when the cache is opened. */
    public bool $lazy = false;

    /** Whether a Redis that has lost the replicas it must have counts as down; null: the default. */
    public ?bool $confirms = null;

    /** @var ?\Closure(): mixed asked for user and password at each new connection to Redis */
    public ?\Closure $credentials = null;

    private function __construct() {}

    /** @return array<mixed> for print_r() and var_dump() */
    public function __debugInfo(): array
    {
        return ['secret' => $this->secret === null ? null : '***', 'formerSecrets' => \array_fill(0, \count($this->formerSecrets), '***'), 'credentials' => $this->credentials === null ? null : '***'] + \get_object_vars($this);
    }

    /**
     * Reads a DSN, an array of options, or null: the environment's LARDER_DSN or else the embedded default.
     *
     * An array without `dsn`, `disk` and `far` adds its options to the configuration that null gives, so
     * ['near' => 'apcu'] means APCu before the embedded default. Without `near` the near tier is the segment, if this PHP
     * has the extension.
     *
     * @param null|string|array<array-key, mixed> $source
     *
     * @throws InvalidConfiguration
     */
    public static function from(#[\SensitiveParameter] string|array|null $source = null): self
    {
        if (\is_array($source)) {
            $dsn = $source['dsn'] ?? null;
            unset($source['dsn']);
            if ($dsn !== null && !\is_string($dsn)) {
                throw InvalidConfiguration::wrongType('dsn', 'a string', $dsn);
            }
            if ($dsn !== null || !isset($source['disk']) && !isset($source['far'])) {
                $base = self::expanded($dsn);
                foreach ($base as $name => $value) {
                    if ($value instanceof Dsn && isset($source[$name])) {
                        throw InvalidConfiguration::tierTwice((string) $name, $value);
                    }
                }
                $source += $base;
            }
        } else {
            $source = self::expanded($source);
        }

        return self::checked($source);
    }

    /**
     * The array that means the same as a DSN.
     *
     * @return array<array-key, mixed>
     */
    private static function expanded(#[\SensitiveParameter] ?string $text): array
    {
        $text ??= Environment::dsn();
        if ($text === null) {
            return ['disk' => self::embedded()];
        }
        $dsn = Dsn::parse($text);
        $tier = Dsn::TIERS[$dsn->scheme];
        if ($dsn->query === []) {
            return [$tier => $dsn];
        }
        $options = $dsn->query;
        foreach (['logger', 'events', 'dsn'] as $name) {
            if (isset($options[$name])) {
                throw InvalidConfiguration::onlyInArray($name);
            }
        }
        if (isset($options[$tier])) {
            throw InvalidConfiguration::tierTwice($tier, $dsn);
        }
        $options[$tier] = clone $dsn;
        $options[$tier]->query = [];

        return $options;
    }

    private static function embedded(): Dsn
    {
        return new Dsn(\extension_loaded('pdo_sqlite') ? 'sqlite' : 'file');
    }

    /**
     * @param array<array-key, mixed> $given
     */
    private static function checked(#[\SensitiveParameter] array $given): self
    {
        $options = new self();
        $none = false;
        $listed = [];
        foreach ($given as $name => $value) {
            // Not the classes, which a setting that is missing must not allow all.
            if ($value === null && $name !== 'classes') {
                if (!\in_array($name, self::NAMES, true)) {
                    throw InvalidConfiguration::unknownOption((string) $name, self::NAMES);
                }
                continue;
            }
            switch ($name) {
                case 'near':
                    $none = $value === 'none';
                    $options->near = $none ? null : self::tier('near', $value);
                    break;
                case 'disk':
                    $options->disk = self::tier('disk', $value);
                    break;
                case 'far':
                    $options->far = self::tier('far', $value);
                    break;
                case 'prefix':
                    $options->prefix = self::text('prefix', $value);
                    if (\preg_match('/^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}$/D', $options->prefix) !== 1) {
                        throw InvalidConfiguration::prefix($options->prefix);
                    }
                    break;
                case 'serializer':
                    $options->serializer = self::choice('serializer', $value, self::SERIALIZERS);
                    break;
                case 'compressor':
                    $options->compressor = self::choice('compressor', $value, self::COMPRESSORS);
                    break;
                case 'budget':
                    $options->budget = self::size('budget', $value, self::LEAST);
                    break;
                case 'near_budget':
                    $options->nearBudget = self::size('near_budget', $value);
                    break;
                case 'timeout':
                    $options->timeout = self::seconds('timeout', $value, '0.25');
                    break;
                case 'lease':
                    $options->lease = self::seconds('lease', $value, '30');
                    break;
                case 'secret':
                    $options->formerSecrets = self::secrets($value);
                    $options->secret = \array_shift($options->formerSecrets);
                    break;
                case 'logger':
                    if (!$value instanceof LoggerInterface) {
                        throw InvalidConfiguration::wrongType('logger', 'a Psr\Log\LoggerInterface', $value);
                    }
                    $options->logger = $value;
                    break;
                case 'metrics':
                    $options->metrics = self::flag('metrics', $value);
                    break;
                case 'events':
                    if (!$value instanceof Listener) {
                        throw InvalidConfiguration::wrongType('events', 'a Larder\Events\Listener', $value);
                    }
                    $options->events = $value;
                    break;
                case 'cacheOnly':
                    $options->cacheOnly = self::flag('cacheOnly', $value);
                    break;
                case 'confirm':
                    $options->confirms = self::confirms($value);
                    break;
                case 'credentials':
                    $options->credentials = self::credentials($value);
                    break;
                case 'lazy':
                    $options->lazy = self::flag('lazy', $value);
                    break;
                case 'classes':
                    $options->classes = self::classes($value);
                    break;
                case 'fingerprint':
                    $options->fingerprint = self::flag('fingerprint', $value);
                    break;
                default:
                    // As PHP writes a list into a query.
                    if (\preg_match('/^secret\[\d\]$/D', (string) $name) !== 1) {
                        throw InvalidConfiguration::unknownOption((string) $name, self::NAMES);
                    }
                    $listed[$name] = $value;
            }
        }
        if ($listed !== []) {
            if ($options->secret !== null) {
                throw InvalidConfiguration::secretTwice();
            }
            \ksort($listed);
            $options->formerSecrets = self::secrets(\array_values($listed));
            $options->secret = \array_shift($options->formerSecrets);
        }
        if ($options->far !== null && $options->disk !== null) {
            throw InvalidConfiguration::diskBeforeFar($options->disk);
        }
        if ($options->classes !== true && !\in_array($options->serializer, [null, 'php'], true)) {
            throw InvalidConfiguration::classesWithout($options->serializer);
        }
        $options->placeNear();
        if ($options->near?->scheme === 'apcu' && !\apcu_enabled()) {
            // APCu is disabled, as it is for the command line by default (apc.enable_cli). Go on with one tier less: the
            // command line could not see the web server's APCu anyway.
            $options->near = null;
            $none = $options->withoutApcu = true;
        }
        $options->chooseSegment($none);
        $options->truth = $options->far ?? $options->disk ?? new Dsn('memory');

        return $options;
    }

    /** Shared memory evicts, so it is never the truth tier: alone it stands before the embedded default. */
    private function placeNear(): void
    {
        if ($this->near === null) {
            return;
        }
        if ($this->near->scheme === 'sqlite') {
            $this->disk = $this->far === null ? throw InvalidConfiguration::near($this->near) : $this->near;
        } elseif ($this->near->scheme === 'memory') {
            $this->near = $this->disk === null && $this->far === null ? null : throw InvalidConfiguration::near($this->near);
        } elseif ($this->far === null) {
            $this->disk ??= self::embedded();
        }
    }

    /**
     * Sets the near tier to the segment if the configuration or the default wants it. A missing extension is no error, since
     * web server and command line may have different extensions and one configuration.
     */
    private function chooseSegment(bool $unwanted): void
    {
        if ($this->near === null) {
            if (!$unwanted && ($this->disk !== null || $this->far !== null) && SegmentPlace::isDefault()) {
                $this->near = new Dsn('segment');
                $this->segment = 'default';
            }
        } elseif ($this->near->scheme === 'segment') {
            $this->segment = 'asked';
            if (!SegmentPlace::isUsable()) {
                $this->near = null;
                $this->segment = 'missing';
            }
        }
    }

    private static function tier(string $tier, #[\SensitiveParameter] mixed $value): Dsn
    {
        if (!$value instanceof Dsn) {
            $text = self::text($tier, $value);
            $dsn = match ($text) {
                'apcu', 'memory', 'segment', 'sqlite', 'file' => new Dsn($text),
                default => Dsn::parse($text),
            };
            if ($dsn->query !== []) {
                $name = (string) \array_key_first($dsn->query);
                throw \in_array($name, self::NAMES, true)
                    ? InvalidConfiguration::misplacedOption($name, $tier)
                    : InvalidConfiguration::unknownOption($name, self::NAMES);
            }
            $value = $dsn;
        }
        if (Dsn::TIERS[$value->scheme] !== $tier && !($tier === 'near' && $value->scheme === 'sqlite')) {
            throw $tier === 'near' ? InvalidConfiguration::near($value) : InvalidConfiguration::wrongTier($tier, $value);
        }
        $value->needs();

        return $value;
    }

    private static function text(string $option, #[\SensitiveParameter] mixed $value): string
    {
        return \is_string($value) ? $value : throw InvalidConfiguration::wrongType($option, 'a string', $value);
    }

    /** @param array<string, string> $known name to the extension it needs */
    public static function choice(string $option, mixed $value, array $known): string
    {
        $value = self::text($option, $value);
        $extension = $known[$value] ?? throw InvalidConfiguration::choice($option, $value, \array_keys($known));
        if ($extension !== '' && !\extension_loaded($extension)) {
            throw InvalidConfiguration::missingExtension($extension, $option . '=' . $value);
        }

        return $value;
    }

    public static function size(string $option, mixed $value, int $least = 1): int
    {
        if (\is_string($value) && \preg_match('/^(\d{1,18})\s*([KMGT]?)(?:i?B)?$/Di', $value, $match) === 1) {
            $unit = self::UNITS[\strtoupper($match[2])];
            $value = (int) $match[1] > \intdiv(\PHP_INT_MAX, $unit) ? $value : (int) $match[1] * $unit;
        }

        return \is_int($value) && $value >= $least ? $value : throw InvalidConfiguration::size($option, $value, $least);
    }

    public static function number(string $option, mixed $value, int $least, string $example, int $most = \PHP_INT_MAX): int
    {
        $number = \is_int($value) || \is_string($value) ? \filter_var($value, \FILTER_VALIDATE_INT, ['options' => ['min_range' => $least, 'max_range' => $most]]) : false;

        return \is_int($number) ? $number : throw InvalidConfiguration::number($option, $value, $least, $most, $example);
    }

    public static function seconds(string $option, mixed $value, string $example): float
    {
        if (\is_string($value) && !\is_numeric($value) || !\is_scalar($value) || \is_bool($value)) {
            throw InvalidConfiguration::seconds($option, $value, $example);
        }
        $seconds = (float) $value;

        return $seconds > 0.0 && $seconds < 1e9 ? $seconds : throw InvalidConfiguration::seconds($option, $value, $example);
    }

    /**
     * The option "confirm": seconds for which a primary is believed without asking whether it still has its replicas. A request
     * asks when it begins, and each second, so whatever is not 0 means the same.
     */
    private static function confirms(mixed $value): bool
    {
        if ($value === 0 || $value === 0.0 || $value === '0') {
            return false;
        }

        return \is_numeric($value) && $value >= 1 ? true : throw InvalidConfiguration::wrongType('confirm', '0 (off) or a number of seconds from 1 on', $value);
    }

    /**
     * The option "classes": true, false or names, of a DSN between commas.
     *
     * @return bool|list<string>
     */
    private static function classes(mixed $value): bool|array
    {
        if (\is_bool($value) || \in_array($value, [0, 1, '0', '1', 'true', 'false', 'yes', 'no', 'on', 'off'], true)) {
            return self::flag('classes', $value);
        }
        $names = [];
        foreach (\is_string($value) ? \explode(',', $value) : (\is_array($value) ? $value : [$value]) as $name) {
            if (!\is_string($name) || \preg_match('/^\\\\?([a-z_\x80-\xff][\w\x80-\xff]*(?:\\\\[a-z_\x80-\xff][\w\x80-\xff]*)*)$/Di', $name, $match) !== 1) {
                throw InvalidConfiguration::classes($name);
            }
            $names[] = $match[1];
        }

        return $names;
    }

    /**
     * The option "secret": a text, or a list of which the first one signs.
     *
     * @return non-empty-list<string>
     *
     * @throws InvalidConfiguration
     */
    public static function secrets(#[\SensitiveParameter] mixed $value): array
    {
        $secrets = \is_array($value) ? \array_values($value) : [$value];
        foreach ($secrets as $secret) {
            if (!\is_string($secret)) {
                throw InvalidConfiguration::wrongType('secret', 'a string, or a list of strings of which the first one signs', $secret);
            }
        }

        /** @var list<string> $secrets */
        return $secrets === [] || \in_array('', $secrets, true) ? throw InvalidConfiguration::emptySecret() : $secrets;
    }

    /** @throws InvalidConfiguration */
    public static function credentials(#[\SensitiveParameter] mixed $value): \Closure
    {
        return $value instanceof \Closure ? $value : throw InvalidConfiguration::wrongType('credentials', 'a closure that returns [user or null, password]', $value);
    }

    /**
     * The option "persistent" of queues and counters.
     *
     * @throws InvalidConfiguration
     */
    public static function persistent(object $dsn, mixed $value): bool
    {
        if (!$dsn instanceof Dsn || !\in_array($dsn->scheme, ['redis', 'rediss'], true)) {
            throw new InvalidConfiguration('The option "persistent" is for redis:// and rediss://. Leave it out: PHP keeps connections to SQLite in any case, and those of Predis never.');
        }

        return self::flag('persistent', $value);
    }

    public static function flag(string $option, mixed $value): bool
    {
        return match (true) {
            \is_bool($value) => $value,
            $value === 1, $value === '1', $value === 'true', $value === 'yes', $value === 'on' => true,
            $value === 0, $value === '0', $value === 'false', $value === 'no', $value === 'off' => false,
            default => throw InvalidConfiguration::flag($option, $value),
        };
    }
}
