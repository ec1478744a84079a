<?php

declare(strict_types=1);

namespace Larder\Counter;

/** The counter's engine cannot do it now: the server is down, the disk is full, the database is damaged. */
class CounterFailure extends \RuntimeException {}
