<?php

declare(strict_types=1);

namespace Larder\Session;

/**
 * A session cannot be had or cannot be stored. The message says why and what to do; it holds no session's id and no data.
 *
 * Where it came from the store, whether the call was carried out is not known.
 */
class SessionFailure extends \RuntimeException {}
