<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

/** One line of the doctor: what it checked, what it found, and how to fix it. */
final readonly class Finding
{
    private function __construct(
        /** ok, note (neither good nor bad), warn or fail. */
        public string $level,
        public string $subject,
        public string $text,
        public string $fix,
    ) {}

    public static function ok(string $subject, string $text): self
    {
        return new self('ok', $subject, $text, '');
    }

    public static function note(string $subject, string $text): self
    {
        return new self('note', $subject, $text, '');
    }

    public static function warn(string $subject, string $text, string $fix): self
    {
        return new self('warn', $subject, $text, $fix);
    }

    public static function fail(string $subject, string $text, string $fix): self
    {
        return new self('fail', $subject, $text, $fix);
    }

    /** @return array{level: string, subject: string, text: string, fix: string} */
    public function document(): array
    {
        return ['level' => $this->level, 'subject' => $this->subject, 'text' => $this->text, 'fix' => $this->fix];
    }
}
