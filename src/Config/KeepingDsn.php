<?php

declare(strict_types=1);

namespace Larder\Config;

/** Reads the DSN and the options of what must not forget: queues, counters and locks. */
final class KeepingDsn
{
    /**
     * @param string|array<array-key, mixed> $source  a DSN, or an array with "dsn" and options; those of the DSN's query are added
     * @param list<string>                   $known   options
     * @param string                         $example a DSN for messages
     * @param bool                           $isNamed whether sqlite:// must name its directory
     *
     * @return array{Dsn, array<array-key, mixed>} without the options in the DSN
     *
     * @throws InvalidConfiguration
     */
    public static function read(#[\SensitiveParameter] string|array $source, array $known, string $example, bool $isNamed = true): array
    {
        $options = \is_string($source) ? ['dsn' => $source] : $source;
        $text = $options['dsn'] ?? null;
        if (!\is_string($text)) {
            throw InvalidConfiguration::wrongType('dsn', 'a DSN such as ' . $example, $text);
        }
        $dsn = Dsn::parse($text, Dsn::KEEPING);
        if ($isNamed && $dsn->scheme === 'sqlite' && $dsn->path === '') {
            throw InvalidConfiguration::malformed($text, 'it names no directory', 'write for example ' . $example);
        }
        foreach ($options += $dsn->query as $option => $_) {
            if (!\in_array($option, $known, true)) {
                throw InvalidConfiguration::unknownOption((string) $option, $known);
            }
        }

        return [$dsn, $options];
    }

    /**
     * The option "credentials".
     *
     * @param array<array-key, mixed> $options
     *
     * @throws InvalidConfiguration
     */
    public static function credentials(Dsn $dsn, #[\SensitiveParameter] array $options): ?\Closure
    {
        $credentials = isset($options['credentials']) ? Options::credentials($options['credentials']) : null;
        if ($credentials !== null && $dsn->scheme === 'sqlite') {
            throw new InvalidConfiguration('The option "credentials" is for redis://. Leave it out: SQLite asks for none.');
        }

        return $credentials;
    }
}
