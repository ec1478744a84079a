<?php

declare(strict_types=1);

namespace Larder\Page\Http;

/** A field's value that breaks its grammar. */
final class Malformed extends \RuntimeException {}
