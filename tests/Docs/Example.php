<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

/**
 * A fenced block of PHP in one of the project's pages.
 *
 * Words after "php" at its fence name the servers it needs: ```php redis. A line that ends in "// => value" says what
 * its statement gives, and is checked.
 */
final readonly class Example
{
    private function __construct(
        public string $page,
        /** Of the fence. */
        public int $line,
        /** @var list<string> */
        public array $needs,
        public string $code,
    ) {}

    /** @return list<self> */
    public static function of(string $page): array
    {
        $examples = [];
        $begin = $needs = $code = null;
        foreach (\explode("\n", (string) \file_get_contents(\dirname(__DIR__, 2) . '/' . $page)) as $i => $line) {
            if ($begin === null && \preg_match('/^```php\b *([a-z ]*)$/', $line, $match) === 1) {
                $begin = $i + 1;
                $needs = \array_values(\array_filter(\explode(' ', $match[1])));
                $code = '';
            } elseif ($begin !== null && $line === '```') {
                $examples[] = new self($page, $begin, $needs ?? [], (string) $code);
                $begin = null;
            } elseif ($begin !== null) {
                $code .= $line . "\n";
            }
        }

        return $examples;
    }

    /** How many lines say what they give. */
    public function expectations(): int
    {
        return (int) \preg_match_all('~; *// => ~', $this->code);
    }

    /**
     * As a file that can be included.
     *
     * @param array<string, string> $places what the page calls its directories and servers, to what they are here
     */
    public function script(array $places): string
    {
        $code = (string) \preg_replace_callback(
            '~^( *)(\S.*); *// => (.+)$~m',
            static fn(array $match): string => $match[1] . 'check(' . $match[2] . ', ' . $match[3] . ', ' . \var_export($match[2], true) . ');',
            $this->code,
        );

        return '<?php ' . \strtr($code, $places);
    }
}
