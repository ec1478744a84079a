<?php

declare(strict_types=1);

namespace Larder\Session;

/** Another request has taken, changed or destroyed the session since this one read it. Nothing was written. */
final class SessionChanged extends SessionFailure {}
