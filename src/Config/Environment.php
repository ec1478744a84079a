<?php

declare(strict_types=1);

namespace Larder\Config;

/**
 * Reads the configuration from the environment.
 *
 * A file of its own, since PHP fills $_SERVER and $_ENV as soon as a script's code names them (auto_globals_jit), which takes
 * half as long as a whole empty request: only who asks for them here pays for that.
 */
final class Environment
{
    /** LARDER_DSN. getenv() has the web server's parameters too, but dotenv libraries write only $_SERVER or $_ENV. */
    public static function dsn(): ?string
    {
        $text = \getenv('LARDER_DSN');
        if ($text === false || $text === '') {
            $text = $_SERVER['LARDER_DSN'] ?? $_ENV['LARDER_DSN'] ?? '';
        }

        return \is_string($text) && $text !== '' ? $text : null;
    }
}
