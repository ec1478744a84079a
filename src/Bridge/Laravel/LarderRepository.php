<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\Repository;

/** Laravel's Repository, in which one process computes for all. */
final class LarderRepository extends Repository
{
    use RemembersOnce;
}
