<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/**
 * A language that does not exist, with the statistics of one that does.
 *
 * How small a compressor makes a text and how long it takes for it depend on how often words come back. So words are
 * drawn as in a real text: the r-th most frequent one with a weight near 1/r (Zipf's law), the shortest ones most
 * often, and each text keeps to a few subjects of its own. Nothing is drawn but whole numbers by
 * Randomizer::getInt(), so a seed gives the same bytes on every PHP.
 */
final class Prose
{
    /** The most frequent words of English, by frequency. */
    private const COMMON = [
        'the', 'of', 'and', 'to', 'a', 'in', 'is', 'that', 'for', 'it', 'was', 'on', 'with', 'as', 'be', 'at', 'by',
        'this', 'from', 'are', 'you', 'not', 'or', 'have', 'an', 'which', 'we', 'one', 'but', 'all', 'they', 'can',
        'your', 'more', 'has', 'will', 'when', 'their', 'if', 'who', 'there', 'what', 'so', 'up', 'out', 'new', 'about',
        'into', 'some', 'also', 'other', 'time', 'than', 'how', 'only', 'now', 'our', 'these', 'may', 'then', 'most',
    ];

    private const ONSETS = ['b', 'c', 'd', 'f', 'g', 'h', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v', 'w', 'b', 'c', 'd', 'l', 'm', 'p', 'r', 's', 't', 'br', 'ch', 'cl', 'fl', 'gr', 'pl', 'pr', 'qu', 'sh', 'st', 'th', 'tr'];
    private const VOWELS = ['a', 'e', 'i', 'o', 'u', 'e', 'a', 'i', 'o', 'e', 'ea', 'ou', 'ai'];
    private const CODAS = ['', '', '', 'n', 'r', 't', 's', 'l', 'ck', 'nd', 'nt', 'st', 'm', 'p'];
    private const ENDINGS = ['', '', '', '', '', '', 's', 's', 's', 'ed', 'ing', 'er', 'ly', 'al'];

    /** Words besides the common ones. */
    private const WORDS = 2_400;

    /** Of how many words one is of the text's own subjects. */
    private const SUBJECT_EVERY = 8;

    /** The language itself is the same for every text. */
    private const LANGUAGE = 1_859;

    private readonly Randomizer $random;

    /** @var list<string> most frequent first */
    private array $words;

    /** @var non-empty-list<int> sum of the weights up to each word */
    private array $sums;

    /** @var non-empty-list<string> */
    private array $subjects;

    public function __construct(int $seed)
    {
        [$this->words, $this->sums] = self::language();
        $this->random = new Randomizer(new Xoshiro256StarStar($seed));
        $this->turn();
    }

    /** @return int from $least to $most */
    public function int(int $least, int $most): int
    {
        return $this->random->getInt($least, $most);
    }

    /**
     * @template T
     *
     * @param non-empty-list<T> $from
     *
     * @return T
     */
    public function one(array $from): mixed
    {
        return self::pick($this->random, $from);
    }

    /** Begins a text with other subjects. */
    public function turn(): void
    {
        $subjects = [$this->rare()];
        while (\count($subjects) < 12) {
            $subjects[] = $this->rare();
        }
        $this->subjects = $subjects;
    }

    public function word(): string
    {
        if ($this->int(1, self::SUBJECT_EVERY) === 1) {
            // The first of them is what the text is about most.
            return $this->subjects[$this->int(0, $this->int(0, \count($this->subjects) - 1))];
        }
        $draw = $this->int(0, $this->sums[\count($this->sums) - 1] - 1);
        $low = 0;
        $high = \count($this->sums) - 1;
        while ($low < $high) {
            $middle = ($low + $high) >> 1;
            if ($draw < $this->sums[$middle]) {
                $high = $middle;
            } else {
                $low = $middle + 1;
            }
        }

        return $this->words[$low];
    }

    /** A word that is in no other place more often than by chance: of a name, a subject, an address. */
    public function rare(): string
    {
        return $this->words[$this->int(\count(self::COMMON), \count($this->words) - 1)];
    }

    public function name(): string
    {
        return \ucfirst($this->rare());
    }

    /** Some words with the first letter of each large. */
    public function title(int $least = 3, int $most = 8): string
    {
        return \ucwords($this->words($this->int($least, $most)));
    }

    /** As it stands in an address: the words of a title with hyphens. */
    public static function slug(string $title): string
    {
        return \strtr(\strtolower($title), ' ', '-');
    }

    public function sentence(): string
    {
        $sentence = \ucfirst($this->words($this->int(5, 12)));
        if ($this->int(0, 2) > 0) {
            $sentence .= ', ' . $this->words($this->int(3, 9));
        }

        return $sentence . $this->one(['.', '.', '.', '.', '.', '.', '?', '!']);
    }

    public function paragraph(int $least = 3, int $most = 6): string
    {
        $sentences = [];
        for ($count = $this->int($least, $most); $count > 0; --$count) {
            $sentences[] = $this->sentence();
        }

        return \implode(' ', $sentences);
    }

    /** @param int $length in digits */
    public function hex(int $length): string
    {
        $hex = '';
        while (\strlen($hex) < $length) {
            $hex .= \sprintf('%04x', $this->int(0, 0xffff));
        }

        return \substr($hex, 0, $length);
    }

    private function words(int $count): string
    {
        $words = [];
        for (; $count > 0; --$count) {
            $words[] = $this->word();
        }

        return \implode(' ', $words);
    }

    /** @return array{list<string>, non-empty-list<int>} */
    private static function language(): array
    {
        $random = new Randomizer(new Xoshiro256StarStar(self::LANGUAGE));
        $known = [];
        while (\count($known) < self::WORDS) {
            // Rarer words are longer ones.
            $word = '';
            for ($syllables = \count($known) < 300 ? 1 : $random->getInt(1, 2 + \intdiv(\count($known), 1_500)); $syllables > 0; --$syllables) {
                $word .= self::pick($random, self::ONSETS) . self::pick($random, self::VOWELS) . ($syllables === 1 ? self::pick($random, self::CODAS) : '');
            }
            $known[$word . self::pick($random, self::ENDINGS)] = true;
        }
        $words = [...self::COMMON, ...\array_diff(\array_keys($known), self::COMMON)];
        $sum = 0;
        $sums = [];
        foreach ($words as $rank => $word) {
            $sums[] = $sum += \intdiv(10_000_000, $rank + 3);
        }

        return [$words, $sums];
    }

    /**
     * @template T
     *
     * @param non-empty-list<T> $from
     *
     * @return T
     */
    private static function pick(Randomizer $random, array $from): mixed
    {
        return $from[$random->getInt(0, \count($from) - 1)];
    }
}
