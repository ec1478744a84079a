<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

/** The keywords of JSON Schema 2020-12 that docs/bench.schema.json uses, and no other: an unknown one is an error. */
final class SchemaCheck
{
    private const SAYING_NOTHING = ['$schema', 'title', 'description', '$defs'];

    /** @param object $schema the whole of it, as json_decode() gives it */
    public function __construct(private readonly object $schema) {}

    /** @return list<string> what is wrong with it, and where */
    public function errors(mixed $value): array
    {
        return [...$this->check($value, $this->schema, '$')];
    }

    /** @return iterable<string> */
    private function check(mixed $value, object $schema, string $where): iterable
    {
        foreach (\get_object_vars($schema) as $keyword => $rule) {
            yield from match ($keyword) {
                'type' => $this->isOf($value, (array) $rule) ? [] : ["$where is not of type " . \implode(' or ', (array) $rule)],
                'const' => $value === $rule ? [] : ["$where is not $rule"],
                'enum' => \in_array($value, $rule, true) ? [] : ["$where is none of " . \implode(', ', $rule)],
                'pattern' => !\is_string($value) || \preg_match("~$rule~Du", $value) === 1 ? [] : ["$where does not match $rule"],
                'minimum' => (!\is_int($value) && !\is_float($value)) || $value >= $rule ? [] : ["$where is less than $rule"],
                'minItems' => !\is_array($value) || \count($value) >= $rule ? [] : ["$where has less than $rule items"],
                'required' => \is_object($value) ? \array_map(static fn(string $name): string => "$where has no $name", \array_values(\array_diff($rule, \array_keys(\get_object_vars($value))))) : [],
                'properties' => $this->properties($value, $rule, $where),
                'additionalProperties' => $this->additional($value, $schema, $rule, $where),
                'items' => $this->items($value, $rule, $where),
                '$ref' => $this->check($value, $this->referred($rule), $where),
                default => \in_array($keyword, self::SAYING_NOTHING, true) ? [] : throw new \LogicException("The schema uses $keyword, which is not checked here."),
            };
        }
    }

    /** @return iterable<string> */
    private function properties(mixed $value, object $rules, string $where): iterable
    {
        foreach (\is_object($value) ? \get_object_vars($value) : [] as $name => $item) {
            if (isset($rules->{$name})) {
                yield from $this->check($item, $rules->{$name}, "$where.$name");
            }
        }
    }

    /** @return iterable<string> */
    private function additional(mixed $value, object $schema, bool|object $rule, string $where): iterable
    {
        foreach (\is_object($value) ? \get_object_vars($value) : [] as $name => $item) {
            if (isset($schema->properties->{$name})) {
                continue;
            }
            if (\is_object($rule)) {
                yield from $this->check($item, $rule, "$where.$name");
            } elseif (!$rule) {
                yield "$where.$name is not known";
            }
        }
    }

    /** @return iterable<string> */
    private function items(mixed $value, object $rule, string $where): iterable
    {
        foreach (\is_array($value) ? $value : [] as $i => $item) {
            yield from $this->check($item, $rule, "{$where}[$i]");
        }
    }

    private function referred(string $reference): object
    {
        $at = $this->schema;
        foreach (\explode('/', \substr($reference, 2)) as $name) {
            $at = $at->{$name};
        }

        return $at;
    }

    /** @param list<string> $types */
    private function isOf(mixed $value, array $types): bool
    {
        foreach ($types as $type) {
            if (match ($type) {
                'object' => \is_object($value),
                'array' => \is_array($value),
                'string' => \is_string($value),
                'integer' => \is_int($value) || (\is_float($value) && $value === \floor($value)),
                'number' => \is_int($value) || \is_float($value),
                'boolean' => \is_bool($value),
                'null' => $value === null,
                default => throw new \LogicException("There is no type $type."),
            }) {
                return true;
            }
        }

        return false;
    }
}
