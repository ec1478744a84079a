<?php

declare(strict_types=1);

namespace Larder\Queue;

/** The queue's engine cannot do it now: the server is down, the disk is full, the database is damaged. */
class QueueFailure extends \RuntimeException {}
