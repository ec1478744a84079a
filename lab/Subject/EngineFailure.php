<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** An engine that does not do what it was asked for: it is reported with this message, and not measured. */
final class EngineFailure extends \RuntimeException
{
    /** @param string $why as the engine or its library says it; may be empty */
    public static function refused(string $engine, string $what, string $why): self
    {
        return new self("$engine does not $what" . ($why === '' ? '.' : ': ' . $why));
    }

    /** @param string $advice what to type or set */
    public static function off(string $what, string $advice): self
    {
        return new self("$what: $advice.");
    }

    public static function unknown(string $parameter, string $value, string $known): self
    {
        return new self(\sprintf('The parameter "%s" is "%s": use %s.', $parameter, $value, $known));
    }

    public static function missing(string $parameter): self
    {
        return new self("The parameter \"$parameter\" is missing: the subject or its server has to give it.");
    }

    public static function notConnected(): self
    {
        return new self('There is no connection: call connect() first.');
    }
}
