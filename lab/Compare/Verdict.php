<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/** What is to be thought of a cell's change. Bytes are exact: of them there is no "perhaps". */
enum Verdict: string
{
    /** Worse, beyond the limit and beyond chance: what the exit status is about. */
    case Lost = 'lost';
    /** Its own interval lies beyond the limit, but among so many cells one may do so by chance. */
    case Perhaps = 'perhaps';
    /** The whole interval is above 1, but not beyond the limit. */
    case Worse = 'worse';
    case Same = 'same';
    /** The whole interval is below 1, but not beyond the limit. */
    case Better = 'better';
    /** Better, beyond the limit (its inverse) and beyond chance. */
    case Gained = 'gained';
    /** Too few rounds on a side to tell anything. */
    case Unknown = 'unknown';
}
