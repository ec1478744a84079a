<?php

declare(strict_types=1);

namespace Larder\Metrics;

/** The metrics that there are: the one list of their names, types and labels, in the order of their text. */
enum Family: string
{
    case Gets = 'larder_gets';
    case Writes = 'larder_writes';
    case Computations = 'larder_computations';
    case ComputationsSeconds = 'larder_computations_seconds';
    case LeaseWaitsSeconds = 'larder_lease_waits_seconds';
    case RoundTrips = 'larder_round_trips';
    case Bytes = 'larder_bytes';
    case Entries = 'larder_entries';
    case BudgetBytes = 'larder_budget_bytes';
    case JournalLag = 'larder_journal_lag';
    case EpochAgeSeconds = 'larder_epoch_age_seconds';
    case PendingInvalidations = 'larder_pending_invalidations';

    public function type(): string
    {
        return match ($this) {
            self::Gets, self::Writes, self::Computations, self::RoundTrips => 'counter',
            self::ComputationsSeconds, self::LeaseWaitsSeconds => 'summary',
            default => 'gauge',
        };
    }

    /** That the name ends with; '': it has none. */
    public function unit(): string
    {
        return match ($this) {
            self::ComputationsSeconds, self::LeaseWaitsSeconds, self::EpochAgeSeconds => 'seconds',
            self::Bytes, self::BudgetBytes => 'bytes',
            default => '',
        };
    }

    public function help(): string
    {
        return match ($this) {
            self::Gets => 'Keys that requests asked a tier for, by the tier\'s answer. Each get asks the request tier first.',
            self::Writes => 'Values that requests stored or did not store: stored, same (it was there already), bounded (for two seconds), dropped, refused (a fill), failed.',
            self::Computations => 'Computations of remember().',
            self::ComputationsSeconds => 'How long they took.',
            self::LeaseWaitsSeconds => 'How long callers of remember() waited for the computation of another.',
            self::RoundTrips => 'Calls of the truth tier: round trips, if it is a server.',
            self::Bytes => 'What a tier holds. Of a server, all that is on it.',
            self::Entries => 'Entries and markers that a tier holds, expired ones that it has not removed yet included.',
            self::BudgetBytes => 'What a tier may hold; none for one that has limits of its own.',
            self::JournalLag => 'Changes in the journal that the near tier had not followed before this scrape.',
            self::EpochAgeSeconds => 'Since a scrape has first met this epoch of the journal. It begins anew where the truth tier begins cold.',
            self::PendingInvalidations => 'Invalidations that wait on this server until the truth tier can record them.',
        };
    }

    /** @return list<string> names of the samples */
    public function samples(): array
    {
        return match ($this->type()) {
            'counter' => [$this->value . '_total'],
            'summary' => [$this->value . '_count', $this->value . '_sum'],
            default => [$this->value],
        };
    }
}
