<?php

declare(strict_types=1);

namespace Larder\Config;

/** The library's version: what bin/larder --version says. bin/release writes it. */
final class Version
{
    public const CURRENT = '0.1.0';
}
