<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/**
 * A server without room refused a body that was sent ahead, and the library keeps the other replies for itself.
 *
 * phpredis throws for such an error (library.c, redis_error_throw), and an exception has no reply.
 */
final class Refused extends \RuntimeException {}
