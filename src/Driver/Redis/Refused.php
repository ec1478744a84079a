<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/**
 * A full server refused a body that was sent ahead, and the library does not return the other replies.
 *
 * phpredis throws an exception for such an error (library.c, redis_error_throw), which has no replies.
 */
final class Refused extends \RuntimeException {}
