<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

/** A file that is no report of this laboratory, or no longer the one that was written. */
final class ReportUnreadable extends \RuntimeException
{
    private const MAKE = 'Make one with: bin/larder bench --json=FILE';

    public static function missing(string $file): self
    {
        return new self("There is no report at $file. " . self::MAKE);
    }

    public static function closed(string $file): self
    {
        return new self("Cannot read the report $file: it is a directory, or this user may not read it.");
    }

    public static function notJson(string $file, string $why): self
    {
        return new self("$file is not JSON ($why): it was cut off, or is something else. " . self::MAKE);
    }

    public static function notReport(string $file): self
    {
        return new self("$file is JSON, but no report of the laboratory. " . self::MAKE);
    }

    public static function version(string $file, string $found): self
    {
        return new self(\sprintf(
            '%s is "%s", and this Larder reads "%s". Compare reports of one version, or run the command in it again.',
            $file,
            Plain::line($found),
            Json::SCHEMA,
        ));
    }

    /** @param string $where as "results[3].samples" */
    public static function malformed(string $file, string $where, string $what): self
    {
        return new self(\sprintf('%s is not a whole report: %s %s. %s', $file, Plain::line($where), $what, self::MAKE));
    }

    public static function changed(string $file, string $id, string $what): self
    {
        return new self(\sprintf('%s was changed after it was written: of %s, %s. %s', $file, Plain::line($id), $what, self::MAKE));
    }
}
