<?php

declare(strict_types=1);

namespace Larder\Console\Support;

use Larder\System\Printable;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Output\OutputInterface;

/** Formats numbers and values for people and programs. */
final class Text
{
    /** Levels of a value in JSON: the document around it is one more, and JSON's parsers often refuse more than 512. */
    private const DEPTH = 511;

    /** Levels of an array that is printed. */
    private const LEVELS = 100;

    /** Arrays of one level that are looked into. */
    private const MOST = 10_000;

    public static function bytes(int $bytes): string
    {
        $size = (float) $bytes;
        foreach (['B', 'KiB', 'MiB', 'GiB'] as $unit) {
            if ($size < 1024) {
                return $unit === 'B' ? $bytes . ' B' : \sprintf('%.1f %s', $size, $unit);
            }
            $size /= 1024;
        }

        return \sprintf('%.1f TiB', $size);
    }

    /** @param ?float $seconds null: for ever */
    public static function duration(?float $seconds): string
    {
        return match (true) {
            $seconds === null => 'no expiry',
            $seconds < 0.0 => 'over',
            $seconds < 0.001 => \sprintf('%.0f us', $seconds * 1e6),
            $seconds < 1.0 => \sprintf('%.1f ms', $seconds * 1e3),
            $seconds < 120.0 => \sprintf('%.1f s', $seconds),
            $seconds < 7200.0 => \sprintf('%.0f min', $seconds / 60),
            $seconds < 172_800.0 => \sprintf('%.1f h', $seconds / 3600),
            default => \sprintf('%.1f days', $seconds / 86_400),
        };
    }

    /** Formats a duration that is known in whole seconds. */
    public static function seconds(int $seconds): string
    {
        return $seconds > -120 && $seconds < 120 ? "$seconds s" : self::duration((float) $seconds);
    }

    /** Formats a key or another string of unknown origin: nothing reaches the terminal that controls it, or turns the writing round. */
    public static function line(string $text, int $width = 60): string
    {
        $text = Printable::text($text);
        if (\function_exists('mb_strimwidth')) {
            return \mb_strimwidth($text, 0, $width, '…', 'UTF-8');
        }
        // Without the extension mbstring, which Symfony's polyfill does not wholly replace: by characters, not by columns.
        $characters = \preg_split('//u', $text, -1, \PREG_SPLIT_NO_EMPTY) ?: [];

        return \count($characters) <= $width ? $text : \implode('', \array_slice($characters, 0, $width - 1)) . '…';
    }

    /** The same for Symfony's output, which would take what looks like its markup for that: `<error>`, `<href=…>`. */
    public static function shown(string $text, int $width = 1 << 30): string
    {
        return self::escaped(self::line($text, $width));
    }

    /** As Symfony's escape(), of which releases before August 2026 forget the second of two signs: `<<fg=red>>`. */
    public static function escaped(string $text): string
    {
        return OutputFormatter::escapeTrailingBackslash(\str_replace(['<', '>'], ['\\<', '\\>'], $text));
    }

    /**
     * Writes a document. What would reach a terminal as more than text is written as \u and four digits (or two of these), which means the same.
     *
     * @param array<array-key, mixed> $document
     */
    public static function json(OutputInterface $output, array $document, bool $pretty = true): void
    {
        $flags = \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE | \JSON_PRESERVE_ZERO_FRACTION | \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PARTIAL_OUTPUT_ON_ERROR;
        $json = (string) \json_encode($document, $pretty ? $flags | \JSON_PRETTY_PRINT : $flags);
        // All of these lie in strings, but for the line's ends of a pretty document.
        $output->writeln((string) \preg_replace_callback(
            '/(?!\n)' . Printable::HIDDEN . '/u',
            static fn(array $match): string => \strlen($match[0]) > 3 ? \trim((string) \json_encode($match[0]), '"') : \sprintf('\u%04x', \mb_ord($match[0], 'UTF-8')),
            $json,
        ), OutputInterface::OUTPUT_RAW);
    }

    /**
     * Describes a value for JSON, which has neither bytes nor objects.
     *
     * @return array{type: string, value: mixed, encoding?: string}
     */
    public static function document(mixed $value): array
    {
        if (\is_string($value) && \preg_match('//u', $value) !== 1) {
            return ['type' => 'string', 'encoding' => 'base64', 'value' => \base64_encode($value)];
        }
        $type = \get_debug_type($value);
        if (\is_scalar($value) || $value === null) {
            return ['type' => $type, 'value' => \is_float($value) && !\is_finite($value) ? \var_export($value, true) : $value];
        }
        if (\is_array($value) && self::isPlain($value) && \json_encode($value, depth: self::DEPTH) !== false) {
            return ['type' => $type, 'value' => $value];
        }

        return ['type' => $type, 'encoding' => 'print_r', 'value' => self::printed($value)];
    }

    /**
     * A key for JSON.
     *
     * @return string|array{encoding: string, value: string}
     */
    public static function key(string $key): string|array
    {
        return \preg_match('//u', $key) === 1 ? $key : ['encoding' => 'base64', 'value' => \base64_encode($key)];
    }

    /** Formats a value for people: strings unchanged. */
    public static function printed(mixed $value): string
    {
        return match (true) {
            \is_string($value) => $value,
            \is_scalar($value), $value === null => \var_export($value, true),
            // It writes each line of a level as far from the edge as the level is deep.
            \is_array($value) && self::isDeep($value) => 'an array of more than ' . self::LEVELS . ' levels',
            default => \rtrim(\print_r($value, true)),
        };
    }

    /** @param array<array-key, mixed> $value */
    private static function isDeep(array $value): bool
    {
        for ($level = 0, $arrays = [$value]; $arrays !== []; $level++) {
            if ($level === self::LEVELS) {
                return true;
            }
            $below = [];
            foreach ($arrays as $array) {
                // An array may hold itself, and several times.
                \count($below) > self::MOST || \array_push($below, ...\array_values(\array_filter($array, \is_array(...))));
            }
            $arrays = $below;
        }

        return false;
    }

    /**
     * Whether an array holds no object, at any depth, and does not hold itself by a reference.
     *
     * @param array<array-key, mixed> $value
     */
    private static function isPlain(array $value): bool
    {
        $plain = true;
        try {
            \array_walk_recursive($value, static function (mixed $item) use (&$plain): void {
                $plain = $plain && !\is_object($item);
            });
        } catch (\Error) {
            // "Recursion detected"
            return false;
        }

        return $plain;
    }
}
