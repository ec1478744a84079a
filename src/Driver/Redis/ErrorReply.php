<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\System\Failure;

/** The server has answered with an error: it has received the command and not executed it. */
class ErrorReply extends Failure {}
