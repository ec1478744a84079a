<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

/** Which WordPress is measured, and which drop-ins beside Larder's: what --wordpress and --dropin say. */
final readonly class Choice
{
    /** Names of subjects that are there anyway. */
    private const TAKEN = '/^(larder.*|wordpress)$/';

    /**
     * @param string                $wordpress as Options takes it
     * @param array<string, string> $dropIns   name to the path of the drop-in's file, or of the directory of its plugin
     */
    public function __construct(
        public string $wordpress = 'debian',
        public array $dropIns = [],
    ) {}

    /**
     * @param list<string> $dropIns each NAME=FILE
     *
     * @throws \InvalidArgumentException which is for the user
     */
    public static function of(?string $wordpress, array $dropIns): self
    {
        if ($wordpress !== null && \preg_match('/^(debian|\d+\.\d+)$/', $wordpress) !== 1) {
            $path = \realpath($wordpress);
            if ($path === false || !\is_file("$path/wp-includes/version.php")) {
                throw new \InvalidArgumentException("--wordpress=$wordpress is not a directory of WordPress. Name one that contains wp-load.php, or a version that Debian has: 6.8");
            }
            $wordpress = $path;
        }
        $named = [];
        foreach ($dropIns as $word) {
            [$name, $given] = \explode('=', $word, 2) + [1 => ''];
            if (\preg_match('/^[a-z][a-z0-9.-]*$/', $name) !== 1 || \preg_match(self::TAKEN, $name) === 1 || isset($named[$name])) {
                throw new \InvalidArgumentException("--dropin=$word: write NAME=FILE, NAME being of small letters, digits, dots and dashes, and no other subject's.");
            }
            $path = \realpath($given);
            if ($given === '' || $path === false) {
                throw new \InvalidArgumentException("--dropin=$word: there is no file and no directory \"$given\".");
            }
            self::dropIn($path) ?? throw new \InvalidArgumentException("--dropin=$word: no file in that directory is called object-cache.php. Name the file itself.");
            $named[$name] = $path;
        }

        return new self($wordpress ?? 'debian', $named);
    }

    /** @return list<string> as they are typed again */
    public function words(): array
    {
        $words = $this->wordpress === 'debian' ? [] : ["--wordpress=$this->wordpress"];
        foreach ($this->dropIns as $name => $path) {
            $words[] = "--dropin=$name=$path";
        }

        return $words;
    }

    /** The drop-in itself: the file, or in a plugin's directory the object-cache.php that lies least deep. */
    public static function dropIn(string $path): ?string
    {
        if (\is_file($path)) {
            return $path;
        }
        for ($deep = '', $i = 0; $i < 5; ++$i, $deep .= '/*') {
            $found = \glob("$path$deep/object-cache.php") ?: [];
            if ($found !== []) {
                return $found[0];
            }
        }

        return null;
    }
}
