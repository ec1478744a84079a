<?php

declare(strict_types=1);

namespace Larder\Demo;

/** What a script of scripts/ says: one line of JSON. */
final readonly class Answer
{
    private function __construct(
        public mixed $value,
        /** Whether it had to be computed for this answer. */
        public bool $computed,
        /** The engine that had it; '' if it was computed or is not there. */
        public string $engine,
        public float $milliseconds,
        public int $pid,
        /** For clocks common to all processes of the machine: hrtime() at the end, nanoseconds. */
        public int $ended,
    ) {}

    public static function parse(string $json, string $errors = ''): self
    {
        $data = \json_decode($json, true);
        if (!\is_array($data) || !isset($data['computed'], $data['engine'], $data['milliseconds'], $data['pid'], $data['ended'])
            || !\is_bool($data['computed']) || !\is_string($data['engine']) || !\is_int($data['pid']) || !\is_int($data['ended'])
            || !\is_float($data['milliseconds'])) {
            throw new \RuntimeException('a script answered "' . \substr($json, 0, 300) . '" ' . \substr($errors, -600));
        }

        return new self($data['value'] ?? null, $data['computed'], $data['engine'], $data['milliseconds'], $data['pid'], $data['ended']);
    }

    public function text(): string
    {
        return \is_scalar($this->value) ? (string) $this->value : (string) \json_encode($this->value);
    }

    /** "edition 1, from APCu", or "edition 1, computed". */
    public function story(): string
    {
        $from = ['segment' => 'the segment', 'apcu' => 'APCu', 'sqlite' => 'SQLite', 'file' => 'files', 'redis' => 'Redis', 'request' => 'the request\'s memory'];

        return $this->text() . ', ' . ($this->computed ? 'computed' : 'from ' . ($from[$this->engine] ?? ($this->engine === '' ? 'nowhere' : $this->engine)));
    }
}
