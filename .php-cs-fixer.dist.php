<?php

declare(strict_types=1);

// PER Coding Style, strict types in every file, and fully qualified names of PHP's own functions and constants in
// namespaced code: an unqualified strlen() is looked up in the namespace first, and is never compiled to an opcode.

use PhpCsFixer\Config;
use PhpCsFixer\Finder;
use PhpCsFixer\Runner\Parallel\ParallelConfigFactory;

$finder = Finder::create()
    ->in([__DIR__ . '/src', __DIR__ . '/tests', __DIR__ . '/bench', __DIR__ . '/demo', __DIR__ . '/lab', __DIR__ . '/symfony-bundle', __DIR__ . '/wordpress'])
    ->notPath('#^classes/#')
    ->append([__FILE__])
    ->append(is_file(__DIR__ . '/bin/larder') ? [__DIR__ . '/bin/larder'] : []);

return (new Config())
    ->setParallelConfig(ParallelConfigFactory::detect())
    ->setCacheFile(__DIR__ . '/.cache/php-cs-fixer.json')
    ->setUnsupportedPhpVersionAllowed(true)
    ->setRiskyAllowed(true)
    ->setRules([
        '@PER-CS' => true,
        'declare_strict_types' => true,
        'native_function_invocation' => ['include' => ['@all'], 'scope' => 'namespaced', 'strict' => false],
        'native_constant_invocation' => ['scope' => 'namespaced', 'strict' => false],
        'no_unused_imports' => true,
        'ordered_imports' => true,
        'modernize_types_casting' => true,
    ])
    ->setFinder($finder);
