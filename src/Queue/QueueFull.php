<?php

declare(strict_types=1);

namespace Larder\Queue;

/** As many messages wait as the queue may hold (option `limit`); none of those pushed was added. */
final class QueueFull extends QueueFailure {}
