<?php

declare(strict_types=1);

namespace Larder\Demo;

/** An answer that a visitor of the shop got, or that its office got when it changed a price. */
final readonly class Visit
{
    public function __construct(
        /** hrtime(), nanoseconds, common to all processes of the machine. */
        public int $begun,
        public int $ended,
        public int $product,
        /** null: there was no answer, or an error. */
        public ?int $price,
        /** Whether it was computed for this answer. */
        public bool $isComputed,
        /** Whether the cache has confirmed that it forgets the former price. */
        public bool $isConfirmed,
    ) {}

    /** @param string $json what product.php answered */
    public static function of(int $begun, int $ended, int $product, int $status, string $json): self
    {
        $said = $status === 200 ? \json_decode($json, true) : null;
        $said = \is_array($said) ? $said : [];
        $value = $said['value'] ?? null;
        $price = \is_array($value) ? $value['price'] ?? null : $value;

        return new self($begun, $ended, $product, \is_int($price) ? $price : null, ($said['computed'] ?? null) === true, \is_array($value) && ($value['deleted'] ?? null) === true);
    }

    /**
     * @param list<string> $files of lines that toLine() has made
     *
     * @return list<self> by time; of a line that is being written only when it is whole
     */
    public static function read(array $files): array
    {
        $visits = [];
        foreach ($files as $file) {
            foreach (\explode("\n", \is_file($file) ? (string) \file_get_contents($file) : '', -1) as $line) {
                [$begun, $ended, $product, $price, $isComputed, $isConfirmed] = \explode(' ', $line);
                $visits[] = new self((int) $begun, (int) $ended, (int) $product, $price === '-' ? null : (int) $price, $isComputed === '1', $isConfirmed === '1');
            }
        }
        \usort($visits, static fn(self $one, self $other): int => $one->begun <=> $other->begun);

        return $visits;
    }

    public function toLine(): string
    {
        return \implode(' ', [$this->begun, $this->ended, $this->product, $this->price ?? '-', (int) $this->isComputed, (int) $this->isConfirmed]) . "\n";
    }
}
