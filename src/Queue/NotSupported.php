<?php

declare(strict_types=1);

namespace Larder\Queue;

/** What a transport cannot do, and another one can. */
final class NotSupported extends QueueFailure {}
