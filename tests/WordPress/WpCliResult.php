<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Assert;

/** How a command of WP-CLI's ended, and what it said. */
final readonly class WpCliResult
{
    /** What WP-CLI, of 2020, and WordPress do that PHP deprecates, which it says twice where it also logs it. */
    private const ITS_OWN = '~^(?:PHP )?Deprecated: .* in \S*/(?:wp-cli/vendor|wp-includes)/\S+ on line \d+$~';

    public string $errors;

    public function __construct(public int $status, public string $output, string $errors)
    {
        $lines = \preg_grep(self::ITS_OWN, \explode("\n", $errors), \PREG_GREP_INVERT);
        $this->errors = \trim(\implode("\n", $lines === false ? [] : $lines));
    }

    /** What it printed, when it did what it should and complained of nothing. */
    public function printed(): string
    {
        Assert::assertSame([0, ''], [$this->status, $this->errors], $this->output . $this->errors);

        return \trim($this->output);
    }

    /** @return array<array-key, mixed> */
    public function json(): array
    {
        return \json_decode($this->printed(), true, flags: \JSON_THROW_ON_ERROR);
    }
}
