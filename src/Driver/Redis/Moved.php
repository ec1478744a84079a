<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/** The command was not executed, because the server is not the primary any more. The next connection goes to where that is now. */
final class Moved extends ErrorReply {}
