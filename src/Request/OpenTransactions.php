<?php

declare(strict_types=1);

namespace Larder\Request;

/**
 * Counts the database transactions that the fibers of one cache have open. They may share a database connection, which shows
 * all of them what one has not committed. So while one is open, nothing is stored that another has computed.
 */
final class OpenTransactions
{
    public int $count = 0;
}
