<?php

declare(strict_types=1);

namespace Larder\Request;

/** The decision on a write. Larder\Outcome tells the application what became of it. */
enum Verdict
{
    /** Stored, or recorded. */
    case Store;
    /** The key has the very same bytes already. */
    case Same;
    /** Stored for two seconds: it may be the older of two values. */
    case Bounded;
    /** Not stored, and what a set was to replace is dropped too. */
    case Drop;
    /** The truth tier does not answer, or others overtook each of the attempts. */
    case Failed;
    /** The value cannot be stored: it cannot be serialized or counted with, or the engine refuses it. */
    case Refused;
    /** An atomic call found a value where it wanted none, or an intent. */
    case Held;
    /** An atomic call found no value where it wanted one. */
    case Missing;
    /** The caller has nothing to store after all. */
    case Kept;

    /** Of several, what went wrong most; null: nothing did. */
    public static function worst(?self ...$verdicts): self
    {
        foreach ([self::Failed, self::Refused, self::Drop, self::Held, self::Missing, self::Kept, self::Bounded] as $verdict) {
            if (\in_array($verdict, $verdicts, true)) {
                return $verdict;
            }
        }

        return self::Store;
    }
}
