<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Random\Randomizer;

/** The keys that one sample goes over, in their order, and how many of them one request asks for. */
final readonly class Keys
{
    /** The parameter "work" of subjects in memory. */
    public const MEMORY = 'memory';

    /**
     * How many values of each kind are read in no order: 20,000 short ones, and of the others as many as fit, with what
     * else the task reads, into an eighth of the memory that the engines have (256 MB). So much may one request read in
     * place of a segment; from then on it would be timed how a value is copied.
     */
    public const SHUFFLED = ['short' => 20_000, '20kB' => 1_000, 'integers' => 1_200, '50x50' => 140, 'objects' => 1_000];

    /** Keys that processes at once read, and that one may write meanwhile. */
    public const COMMON = 1_000;

    /** Values that are made for a sample of writing: they must be in memory before the clock starts. */
    private const FRESH = ['short' => 1_000, '20kB' => 200, 'integers' => 200, '50x50' => 30, 'objects' => 200];

    private const MISSING = 1_000;

    /**
     * @param non-empty-list<string> $sample  a key may be there more than once
     * @param non-empty-list<string> $written what is written before, each once
     * @param int<1, max>            $request
     * @param bool                   $memory  each write is one of new values, for it matters there what memory they have
     * @param bool                   $common  other processes write the same keys meanwhile
     */
    private function __construct(
        public array $sample,
        public array $written,
        public int $request,
        public bool $memory = false,
        public bool $common = false,
    ) {}

    /**
     * @param int<1, max> $operations of a sample
     * @param int<1, max> $distinct   keys
     * @param int<1, max> $request
     */
    public static function inOrder(string $prefix, int $operations, int $distinct, int $request): self
    {
        $keys = self::numbered($prefix, \min($operations, $distinct));
        $sample = [];
        while (\count($sample) < $operations) {
            \array_push($sample, ...$keys);
        }
        /** @var non-empty-list<string> $sample */
        $sample = \array_slice($sample, 0, $operations);

        return new self($sample, $keys, $request);
    }

    /**
     * Of an engine in memory: there it matters whether one key is read again and again or thousands in no order.
     *
     *     read, walk  one key
     *     shuffled    as many as SHUFFLED says, each once, in an order that chance decides
     *     missing     keys that are not there, among those that are
     *     write       one key after the other
     *     increment   one key
     *     gets        keys that all processes share, in an order that chance decides
     *     sets        the writer beside those that read them
     *
     * @param string      $prefix     of keys that no other process has
     * @param string      $common     of keys that all processes at once have
     * @param int<1, max> $operations of a sample that reads one key
     * @param int<1, max> $request
     */
    public static function inMemory(string $operation, string $payload, string $prefix, string $common, int $operations, int $request, Randomizer $random): self
    {
        $common = $operation === 'gets' || $operation === 'sets' ? $common : null;
        $keys = self::numbered($common ?? ($operation === 'increment' ? $prefix . 'count:' : $prefix), match ($operation) {
            'read', 'walk', 'increment' => 1,
            'shuffled', 'missing' => self::SHUFFLED[$payload] ?? 1,
            'write' => self::FRESH[$payload] ?? 1,
            'gets', 'sets' => self::COMMON,
            default => throw new \LogicException("There is no operation $operation."),
        });
        /** @var non-empty-list<string> $sample */
        $sample = match ($operation) {
            'read', 'walk', 'increment' => \array_fill(0, $operations, $keys[0]),
            'missing' => self::numbered($prefix . 'missing:', self::MISSING),
            'write' => $keys,
            default => $random->shuffleArray($keys),
        };

        return new self($sample, $keys, $request, true, $common !== null);
    }

    /** @return non-empty-list<string> */
    private static function numbered(string $prefix, int $count): array
    {
        $keys = [$prefix . '0'];
        for ($i = 1; $i < $count; ++$i) {
            $keys[] = $prefix . $i;
        }

        return $keys;
    }
}
