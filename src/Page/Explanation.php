<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * What becomes of a request, and why.
 *
 * @phpstan-import-type Stored from Pages
 */
final readonly class Explanation
{
    /**
     * @param string  $forward as in Cache-Status (RFC 9211, section 2.2): why the stored page does not answer
     * @param string  $detail  the reason, where there is one; of Marked, why the response could not be stored
     * @param ?string $url     without the parameters that the owner ignores; null: the request's host or target is none
     * @param ?string $key     null: no stored page may answer
     * @param ?Stored $stored  what lies under the key, fresh or not
     * @param int     $age     of that, in seconds
     */
    public function __construct(
        public PageOutcome $outcome,
        public string $forward,
        public string $detail,
        public ?string $url,
        public ?string $key,
        public ?array $stored,
        public int $age,
    ) {}
}
