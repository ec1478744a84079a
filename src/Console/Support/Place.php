<?php

declare(strict_types=1);

namespace Larder\Console\Support;

use Larder\Cache;
use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\Config\StoreFactory;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\System\WrongUser;

/** The cache that a command works on, and the user it works as. */
final readonly class Place
{
    private function __construct(
        public Options $options,
        /** The disk tier's directory; null: there is no disk tier. */
        public ?string $directory,
        public Complaints $complaints,
        /** @var array<string, mixed> */
        #[\SensitiveParameter]
        private array $source,
    ) {}

    /**
     * @param null|string|array<string, mixed> $source as of Cache::open()
     *
     * @throws InvalidConfiguration
     */
    public static function choose(#[\SensitiveParameter] string|array|null $source): self
    {
        $options = Options::from($source);

        return new self(
            $options,
            $options->disk === null ? null : StoreFactory::directory($options->disk, $options),
            new Complaints(),
            \is_array($source) ? $source : ['dsn' => $source],
        );
    }

    /**
     * Makes a root process the directory's owner, before it opens anything.
     *
     * @return bool whether the process has changed its user
     *
     * @throws WrongUser
     */
    public function become(): bool
    {
        return $this->directory !== null && PrivateDirectory::become($this->directory);
    }

    /** @throws InvalidConfiguration */
    public function open(): Cache
    {
        return Cache::open(['logger' => $this->complaints] + $this->source);
    }

    /**
     * Opens the truth tier alone, without the near tier.
     *
     * @throws InvalidConfiguration
     */
    public function openTruth(): Cache
    {
        $options = $this->options;
        $tier = Dsn::TIERS[$options->truth->scheme];

        return Cache::open(($tier === 'near' ? ['dsn' => $options->truth->toString()] : [$tier => $options->truth, 'near' => 'none']) + [
            'logger' => $this->complaints,
            'prefix' => $options->prefix,
            'timeout' => $options->timeout,
            'secret' => $options->secret === null ? null : [$options->secret, ...$options->formerSecrets],
            // What decides which values may be read, and whether the server is believed.
            'classes' => $options->classes,
            'fingerprint' => $options->fingerprint,
        ] + \array_filter([
            'serializer' => $options->serializer,
            'compressor' => $options->compressor,
            'credentials' => $options->credentials,
            'confirm' => $options->confirms === null ? null : (int) $options->confirms,
        ], static fn(mixed $value): bool => $value !== null));
    }

    /** The tiers and the user, for people, without a password. */
    public function describe(): string
    {
        $truth = $this->options->truth;
        $tiers = [];
        foreach ([$this->options->near, $this->options->disk, $this->options->far] as $i => $dsn) {
            if ($dsn !== null && ($i !== 1 || $dsn !== $this->options->near)) {
                $tiers[] = match (true) {
                    Dsn::TIERS[$dsn->scheme] === 'disk' => $dsn->scheme . ' in ' . $this->directory,
                    $dsn->scheme === 'segment' => 'segment in ' . SegmentPlace::path($dsn),
                    default => $dsn->toString(),
                };
            }
        }
        $text = \implode(', before ', $tiers);
        if (Dsn::TIERS[$truth->scheme] !== 'disk' && $this->options->prefix !== Options::PREFIX) {
            $text .= ', prefix ' . $this->options->prefix;
        }
        if ($this->options->withoutApcu) {
            $text .= ', without near=apcu (switched off for this process)';
        }
        if ($this->options->segment === 'missing') {
            $text .= ', without near=segment (this PHP does not load the extension)';
        }
        if ($truth->scheme === 'memory') {
            $text .= ' (of this process alone: nothing is kept)';
        }
        $text .= ', as ' . Ownership::name(Ownership::user());
        if ($this->directory !== null && !\is_dir($this->directory)) {
            $text .= Ownership::user() === 0 ? ' (a new directory, which will belong to root: to share it with the web, run this as the web\'s user)' : ' (a new directory)';
        }

        return $text;
    }
}
