<?php

declare(strict_types=1);

namespace Larder\Console\Warm;

use Larder\Page\Http\StructuredField;
use Larder\Page\Http\Token;

/** What has become of a page. */
enum WarmResult: string
{
    /** It was fresh, and was not asked for. */
    case Skipped = 'fresh';

    /** It would have been asked for, had this not been a dry run. */
    case Wanted = 'wanted';

    /** It was asked for, and is stored now. */
    case Stored = 'stored';

    /** It was asked for, and came from a store: that which the site uses is not the one that this command knows. */
    case Hit = 'hit';

    /** It was asked for and came stale: the site renews it. */
    case Renewed = 'renewing';

    /** It was asked for, and could not be stored. */
    case NotStored = 'not stored';

    /** It was asked for, and the answer does not tell of a Larder. */
    case Answered = 'answered';

    case Failed = 'failed';

    /**
     * What a site's answer says of itself (RFC 9211).
     *
     * @param ?string $detail set to the reason why the page failed or was not stored
     *
     * @param-out string $detail
     */
    public static function of(Transfer $transfer, ?string &$detail): self
    {
        $detail = $transfer->failure;
        if ($transfer->failure !== '' || $transfer->status >= 500 || $transfer->status === 429) {
            return self::Failed;
        }
        foreach (StructuredField::list($transfer->fields['cache-status'] ?? '') ?? [] as [$cache, $said]) {
            if (!$cache instanceof Token || $cache->name !== 'Larder') {
                continue;
            }
            if (isset($said['hit'])) {
                return ($said['ttl'] ?? 1) > 0 ? self::Hit : self::Renewed;
            }
            $detail = \is_string($said['detail'] ?? null) ? $said['detail'] : '';

            return isset($said['stored']) ? self::Stored : self::NotStored;
        }

        return self::Answered;
    }
}
