<?php

// What Symfony 8.1 takes from the package symfony/polyfill-deepclone, which composer.json leaves out: as much of it as a container
// and the caches of a test need, by serialize().

declare(strict_types=1);

if (!function_exists('deepclone_to_array')) {
    /**
     * @param ?list<class-string> $allowedClasses
     *
     * @return array{value: mixed}|array{serialized: string} the first of what needs no cloning
     */
    function deepclone_to_array(mixed $value, ?array $allowedClasses = null, bool $allowNamedClosure = false): array
    {
        $serialized = serialize($value);

        return preg_match('/(^|[;{])[OCErR]:/', $serialized) === 1 ? ['serialized' => $serialized] : ['value' => $value];
    }

    /**
     * @param array{value?: mixed, serialized?: string} $payload
     * @param ?list<class-string>                       $allowedClasses
     */
    function deepclone_from_array(array $payload, ?array $allowedClasses = null, bool $allowNamedClosure = false): mixed
    {
        return isset($payload['serialized']) ? unserialize($payload['serialized'], ['allowed_classes' => $allowedClasses ?? true]) : $payload['value'] ?? null;
    }
}
