<?php

declare(strict_types=1);

namespace Larder\Page;

/** What the page cache does with a request. */
enum PageOutcome: string
{
    /** A fresh page answers. */
    case Hit = 'hit';

    /** A stale page answers, and one request renews it. */
    case Stale = 'stale';

    /** The request wants none of the application, and nothing stored answers it. */
    case Refused = 'refused';

    /** The application answers, and its response is stored if it may be. */
    case Built = 'built';

    /** Another request is building the page: this one waits for it. */
    case Waits = 'waits';

    /** Another request is building the page, and a prefetch waits for none. */
    case Busy = 'busy';

    /** The application answers, as in Built; but last time its response could not be stored, so no request waits for it. */
    case Marked = 'marked';

    /** The application answers, and its response is not stored. */
    case Passed = 'passed';
}
