<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\System\Printable;
use Larder\System\UnsafeDirectory;

/**
 * An invalid DSN or option. The message says what is wrong and what to write instead.
 *
 * No message contains a password or a secret.
 */
final class InvalidConfiguration extends \InvalidArgumentException
{
    public static function notADsn(#[\SensitiveParameter] string $text): self
    {
        if ($text === '') {
            return new self('The DSN is empty. Write for example sqlite:///var/cache/app, or pass no DSN for the default.');
        }
        if (\preg_match('~^[A-Za-z]:[\\\\/]|^\\\\\\\\~', $text) === 1) {
            return self::windows($text);
        }
        if ($text[0] === '/') {
            return new self('"' . self::redacted($text) . '" is a path and not a DSN. Write sqlite://' . (self::isHarmless($text) ? $text : '/var/cache/app') . ' instead.');
        }
        if (\preg_match('~^([A-Za-z][A-Za-z0-9+.-]*):(.*)$~s', $text, $match) === 1) {
            $scheme = \strtolower($match[1]);
            $rest = $match[2];
            $advice = match (self::isHarmless($text) ? Dsn::TIERS[$scheme] ?? '' : '') {
                'near' => $scheme . '://',
                'disk' => $scheme . ':///' . \ltrim($rest, '/'),
                'far' => $scheme . '://' . (\str_starts_with($rest, '/') ? '/' . \ltrim($rest, '/') : $rest),
                default => isset(Dsn::TIERS[$scheme]) ? self::example($scheme) : 'sqlite:///var/cache/app or redis://127.0.0.1:6379/0',
            };

            return new self('"' . (isset(Dsn::TIERS[$scheme]) ? self::redacted($text) : '…') . '" lacks the "://" after its scheme. Write ' . $advice . ' instead.');
        }
        if (isset(Dsn::TIERS[$text])) {
            return new self('"' . $text . '" is a scheme without an address. Write ' . self::example($text) . ' instead.');
        }

        return new self('This is not a DSN: it does not begin with a scheme and "://" (it may be a password, so it is not shown).' . self::didYouMean($text, \array_keys(Dsn::TIERS)) . ' Write for example sqlite:///var/cache/app or redis://127.0.0.1:6379/0.');
    }

    public static function malformed(#[\SensitiveParameter] string $text, string $wrong, string $instead): self
    {
        return new self('Malformed DSN "' . self::redacted($text) . '": ' . $wrong . '. To fix it, ' . $instead . '.');
    }

    /** @param list<string> $known schemes */
    public static function unknownScheme(#[\SensitiveParameter] string $text, string $scheme, array $known): self
    {
        if (\preg_match('~^[a-z][a-z0-9+.-]{0,30}$~D', $scheme) !== 1) {
            return self::notADsn($text);
        }
        if (\preg_match('/cluster|sentinel/', $scheme) === 1) {
            return self::cluster($text);
        }
        $alias = match ($scheme) {
            'tcp', 'unix', 'valkey', 'phpredis', 'keydb' => 'redis',
            'tls', 'ssl', 'valkeys', 'redis+tls' => 'rediss',
            'prediss', 'predis+ssl' => 'predis+tls',
            'memcache' => 'memcached',
            'apc' => 'apcu',
            'shm', 'larder' => 'segment',
            'array', 'null' => 'memory',
            'files', 'filesystem', 'dir' => 'file',
            'sqlite3', 'pdo', 'pdo_sqlite' => 'sqlite',
            default => '',
        };
        $meant = \in_array($alias, $known, true) ? " Did you mean $alias://?" : self::didYouMean($scheme, $known, '://');

        return new self('Unknown scheme "' . $scheme . '" in the DSN "' . self::redacted($text) . '".' . $meant . ' Known schemes: ' . \implode(', ', $known) . '.');
    }

    public static function cluster(#[\SensitiveParameter] string $text): self
    {
        return new self('"' . self::redacted($text) . '" names several Redis servers. '
            . 'Write redis+cluster://host1:6379,host2:6379 for a Redis Cluster, or redis+sentinel://host1:26379,host2:26379/mymaster for servers that Sentinel watches.');
    }

    public static function windows(#[\SensitiveParameter] string $text): self
    {
        return new self('"' . self::redacted($text) . '" is a Windows path. Larder keeps files only on systems with POSIX permissions: use redis:// or memcached:// on Windows, or WSL.');
    }

    /**
     * Refuses unknown options: most often one is misspelt.
     *
     * @param array<array-key, mixed> $options by name
     * @param list<string>            $known
     *
     * @throws self
     */
    public static function refuseUnknown(#[\SensitiveParameter] array $options, array $known): void
    {
        foreach ($options as $name => $_) {
            if (!\in_array($name, $known, true)) {
                throw self::unknownOption((string) $name, $known);
            }
        }
    }

    /** @param list<string> $known */
    public static function unknownOption(string $name, array $known): self
    {
        // Queues, locks and the like have few of a cache's options.
        $isCache = \in_array('prefix', $known, true);
        $meant = match (\strtolower($name)) {
            'cluster', 'redis_cluster', 'redis_sentinel', 'sentinel' => ' A Redis Cluster and servers that Sentinel watches have schemes of their own: redis+cluster://host1,host2 and redis+sentinel://host1,host2/mymaster.',
            'database', 'dbindex' => ' Did you mean "db"? Put it into the query of a redis:// or predis:// DSN.',
            'db' => ' Put it into the query of a redis:// or predis:// DSN.',
            'password', 'auth', 'user', 'username' => ' Put user and password into the DSN: redis://user:password@host.',
            'sentinel_user', 'sentinel_password' => ' Put it into the query of the DSN: redis+sentinel://host/mymaster?sentinel_password=...',
            'cafile', 'peer_name' => ' Put it into the query of the DSN: rediss://host?cafile=/etc/ssl/redis-ca.pem',
            'host', 'port', 'path' => ' Put it into the DSN: redis://host:port, sqlite:///path.',
            default => !$isCache ? self::didYouMean($name, $known) : match (\strtolower($name)) {
                'namespace', 'key_prefix', 'keyprefix' => ' Did you mean "prefix"?',
                'size', 'max_size', 'maxmemory', 'disk_budget', 'memory' => ' Did you mean "budget"?',
                'ttl', 'lifetime', 'default_lifetime' => ' The time to live is an argument of set(), remember() and group().',
                'allowed_classes', 'serializable_classes' => ' Did you mean "classes"?',
                default => self::didYouMean($name, $known),
            },
        };

        return new self('Unknown option "' . self::printable($name) . '".' . $meant . ' Known options: ' . \implode(', ', $known) . '.');
    }

    public static function misplacedOption(string $name, string $tier): self
    {
        return new self('The option "' . self::printable($name) . '" is in the DSN of the ' . $tier . ' tier. Options apply to the whole cache: write it beside the tiers.');
    }

    public static function wrongType(string $option, string $expected, #[\SensitiveParameter] mixed $given): self
    {
        return new self('The option "' . $option . '" must be ' . $expected . ', not ' . (\is_int($given) || \is_float($given) ? $given : \get_debug_type($given)) . '.'
            // getenv() has found nothing.
            . ($given === false ? ' Is the variable that it comes from set?' : ''));
    }

    public static function size(string $option, mixed $given, int $least): self
    {
        return new self('The option "' . $option . '" is ' . self::shown($given) . ', but must be a whole number of bytes from ' . $least . ' on, or one with K, M, G or T behind it. Write for example ' . $option . '=256M, 1G or 67108864.');
    }

    public static function seconds(string $option, mixed $given, string $example): self
    {
        return new self('The option "' . $option . '" is ' . self::shown($given) . ', but must be a number of seconds above zero and below a billion. Write for example ' . $option . '=' . $example . '.');
    }

    public static function number(string $option, mixed $given, int $least, int $most, string $example): self
    {
        return new self('The option "' . $option . '" is ' . self::shown($given) . ', but must be a whole number from ' . $least . ($most === \PHP_INT_MAX ? ' on' : ' to ' . $most) . '. Write for example ' . $option . '=' . $example . '.');
    }

    public static function prefix(string $given): self
    {
        return new self('The prefix "' . self::printable($given) . '" must be 1 to 64 letters, digits and any of "_ . : -", beginning with a letter, a digit or "_". Write for example prefix=shop.');
    }

    /** @param list<string> $known */
    public static function choice(string $option, string $given, array $known): self
    {
        return new self('The option "' . $option . '" is "' . self::printable($given) . '".' . self::didYouMean($given, $known) . ' Choose one of: ' . \implode(', ', $known) . '.');
    }

    public static function flag(string $option, mixed $given): self
    {
        return new self('The option "' . $option . '" is ' . self::shown($given) . ', but must be true or false. Write ' . $option . '=1 or ' . $option . '=0.');
    }

    public static function classes(mixed $given): self
    {
        return new self('What the option "classes" names is ' . self::shown($given) . ', which is no name of a class. Write true, false or a list of names: [User::class, Address::class], or in a DSN classes=App\User,App\Address.');
    }

    public static function classesWithout(string $serializer): self
    {
        return new self("The serializer $serializer cannot be told which classes are allowed. Leave out the option \"serializer\", or write serializer=php, beside \"classes\".");
    }

    public static function secretTwice(): self
    {
        return new self('The DSN has the option "secret" and a list of secrets too. Write them all into the list, the one that signs first: ?secret[0]=…&secret[1]=…');
    }

    public static function emptySecret(): self
    {
        return new self('The option "secret" is empty, so it would sign nothing. Leave it out, or set it to a long random text (is the variable that it comes from set?).');
    }

    public static function onlyInArray(string $option): self
    {
        return new self('The option "' . $option . '" cannot be part of a DSN. Pass an array: Cache::open([\'dsn\' => \'…\', \'' . $option . '\' => …]).');
    }

    public static function wrongTier(string $tier, Dsn $dsn): self
    {
        $fits = \array_keys(Dsn::TIERS, $tier, true);

        return new self('"' . $dsn->toString() . '" cannot be the ' . $tier . ' tier. The ' . $tier . ' tier can be: ' . \implode('://, ', $fits) . '://; ' . $dsn->scheme . ':// is written as ' . Dsn::TIERS[$dsn->scheme] . '=…');
    }

    public static function near(Dsn $dsn): self
    {
        return new self('"' . $dsn->toString() . '" cannot be the near tier. Write near=segment, near=apcu, near=none or, before a server of Redis or Memcached, near=sqlite:///directory.');
    }

    public static function diskBeforeFar(Dsn $dsn): self
    {
        return new self('A cache on a server of Redis or Memcached has no disk tier. Write near=' . ($dsn->scheme === 'sqlite' ? $dsn->toString() : 'sqlite:///directory') . ' in place of disk=…, for copies on this server\'s disk.');
    }

    public static function tierTwice(string $tier, Dsn $dsn): self
    {
        return new self('The DSN "' . $dsn->toString() . '" is itself the ' . $tier . ' tier, and the option "' . $tier . '" names another one. Keep one of the two.');
    }

    public static function missingExtension(string $extension, string $for): self
    {
        return new self($for . ' needs the PHP extension ' . $extension . ', which is not loaded in ' . \PHP_SAPI . '. ' . Extension::advice($extension));
    }

    public static function disabledFunction(string $function): self
    {
        return new self("Larder needs PHP's function $function(), which is disabled in " . \PHP_SAPI . ". Take $function out of disable_functions in php.ini, or ask the host to.");
    }

    public static function missingPredis(string $for): self
    {
        return new self($for . ' needs Predis. To install it, type "composer require predis/predis".');
    }

    public static function missingRedis(string $for): self
    {
        return new self($for . ' needs the PHP extension redis or the package Predis, and neither is installed. '
            . Extension::advice('redis') . ' Or type "composer require predis/predis".');
    }

    public static function directory(UnsafeDirectory $unsafe): self
    {
        return new self($unsafe->getMessage(), 0, $unsafe);
    }

    /**
     * A DSN as a message may show it. In a malformed DSN the password cannot be told from the rest: unless it has only plain
     * names and ports, only the scheme is shown.
     */
    public static function redacted(#[\SensitiveParameter] string $text): string
    {
        $mark = \strpos($text, '?');
        $address = $mark === false ? $text : \substr($text, 0, $mark);
        // A "?" may belong to the password.
        if (self::isHarmless($address) && ($mark === false || \preg_match('~^(\w+=[\w./,:-]*(&|$))+$~D', \substr($text, $mark + 1)) === 1)) {
            return $mark === false ? self::printable($text) : self::printable($address) . '?…';
        }
        $scheme = \strtolower((string) \strstr($text, ':', true));

        return isset(Dsn::TIERS[$scheme]) ? $scheme . '://…' : '…';
    }

    /** Whether a part of a DSN cannot contain a password: it has only names, paths, and numbers after its colons. */
    public static function isHarmless(#[\SensitiveParameter] string $text): bool
    {
        $schemes = \implode('|', \array_map(\preg_quote(...), \array_keys(Dsn::TIERS)));

        return \preg_match('~^(?:(?:' . $schemes . '):|[a-z][a-z0-9+.-]{0,30}://)?(?:[\w./,\x5c -]|:\d{1,5}(?!\w))*$~Di', $text) === 1;
    }

    private static function printable(string $text): string
    {
        if (\strlen($text) > 200) {
            $text = \substr($text, 0, 200) . '…';
        }

        return Printable::text($text);
    }

    private static function shown(mixed $given): string
    {
        return \is_scalar($given) ? '"' . self::printable(\is_string($given) ? $given : \var_export($given, true)) . '"' : 'of type ' . \get_debug_type($given);
    }

    private static function example(string $scheme): string
    {
        return match (Dsn::TIERS[$scheme]) {
            'disk' => $scheme . ':///var/cache/app',
            'near' => $scheme . '://',
            default => $scheme . '://127.0.0.1' . ($scheme === 'memcached' ? ':11211' : ':6379/0'),
        };
    }

    /** @param list<string> $known */
    private static function didYouMean(string $given, array $known, string $tail = ''): string
    {
        $given = \strtolower(\substr($given, 0, 40));
        $best = null;
        $least = \max(2, \intdiv(\strlen($given), 3)) + 1;
        foreach ($known as $word) {
            $distance = \levenshtein($given, \strtolower($word));
            if ($distance < $least) {
                $least = $distance;
                $best = $word;
            }
        }

        return $best === null ? '' : ' Did you mean "' . $best . $tail . '"?';
    }
}
