<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

/** What a site shall be. */
final readonly class Options
{
    /** Lets a change of any file be seen at once, as there is no wait between two requests here. */
    private const INI = ['opcache.revalidate_freq' => 0, 'sendmail_path' => '/bin/true'];

    /**
     * @param string                                     $version   "debian", "6.8", "7.1": as bin/wordpress takes it; or
     *                                                              the path of a WordPress
     * @param ?list<string>                              $sites     null for a single site; for a network the further
     *                                                              sites' names, each a subdirectory
     * @param array<string, string|int|float|bool|null>  $constants further ones, or other values, for wp-config.php
     * @param array<string, string|int|float>            $ini       PHP's settings, in php-fpm and on the command line
     * @param int<1, max>                                $workers   of php-fpm
     * @param list<string>                               $nginx     further directives of the web server
     * @param int                                        $errors    which of PHP's are told: what WordPress itself has
     *                                                              too many of may be left out
     * @param string                                     $seed      PHP code that fills the database when that is
     *                                                              installed, which is once
     */
    public function __construct(
        public string $version = 'debian',
        public ?array $sites = null,
        public array $constants = [],
        private array $ini = [],
        public int $workers = 4,
        public array $nginx = [],
        public int $errors = \E_ALL,
        public string $seed = '',
    ) {}

    /** @return array<string, string|int|float> */
    public function ini(): array
    {
        return $this->ini + self::INI + ['error_reporting' => $this->errors];
    }

    public function isNetwork(): bool
    {
        return $this->sites !== null;
    }
}
