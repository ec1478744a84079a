<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/** What was added to HTTP's caching: RFC 5861, 9211, 9213, 9875 and 10008, Surrogate-Control and No-Vary-Search. */
final class Extensions
{
    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    public static function rules(): iterable
    {
        yield from self::stale();
        yield from self::targeted();
        yield from self::groups();
        yield from self::searches();
        yield '10008 2: a QUERY is not answered from a GET\'s page' => [[
            new Step(),
            new Step('QUERY', lines: ['Cache-Control: max-age=60'], has: ['Cache-Status' => 'Larder; fwd=method']),
            new Step('QUERY'),
            new Step(from: 1),
        ]];
        yield '9211 2: the member of a cache behind stays before ours' => [[
            new Step(lines: ['Cache-Control: no-store', 'Cache-Status: origin; hit'], has: ['Cache-Status' => 'origin; hit, Larder; fwd=uri-miss; detail="no-store"']),
        ]];
        yield '9211 2: what the application says is stored without it' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Cache-Status: origin; hit']),
            new Step(from: 1, has: ['Cache-Status' => '~^Larder; hit; ttl=\d+$~']),
        ]];
        yield '9211 2.8: a detail is a string, whatever a visitor sends' => [[
            new Step(fields: ['Cookie' => 'a"\\;b=c'], has: ['Cache-Status' => '~^Larder; fwd=bypass; detail="[^"]+"$~']),
        ]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function stale(): iterable
    {
        $stale = static fn(string $control, int $age): Step => new Step(lines: ["Cache-Control: max-age=60, $control", "Age: $age", 'ETag: "1"']);
        yield '5861 4: stale-if-error, in its window' => [[$stale('stale-if-error=100', 100), new Step(answers: 500, lines: [], from: 1, ran: true)]];
        yield '5861 4: stale-if-error, after its window' => [[$stale('stale-if-error=100', 170), new Step(answers: 500, lines: [], status: 500)]];
        yield '5861 4: stale-if-error=0' => [[$stale('stale-if-error=0', 61), new Step(answers: 500, lines: [], status: 500)]];
        yield '5861 3: stale-while-revalidate, after its window' => [[$stale('stale-while-revalidate=10', 71), new Step(has: ['Cache-Status' => '~fwd=stale~'])]];
        yield '5861 3: not for a visitor who wants a newer page' => [[$stale('stale-while-revalidate=100', 71), new Step(fields: ['Cache-Control' => 'no-cache'])]];
        foreach (['5.2.2.2' => 'must-revalidate', '5.2.2.8' => 'proxy-revalidate', '5.2.2.10' => 's-maxage=60'] as $section => $directive) {
            yield "9111 $section: $directive counts more than stale-while-revalidate" => [[$stale("stale-while-revalidate=100, $directive", 71), new Step()]];
            yield "9111 $section: $directive counts more than stale-if-error" => [[$stale("stale-if-error=100, $directive", 71), new Step(answers: 500, lines: [], status: 500)]];
        }
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function targeted(): iterable
    {
        $stored = static fn(array $lines): array => [[new Step(lines: $lines), new Step(from: 1)]];
        $not = static fn(array $lines): array => [[new Step(lines: $lines), new Step()]];
        yield '9213 2.2: a targeted field counts alone' => $stored(['CDN-Cache-Control: max-age=60', 'Cache-Control: no-store', 'Expires: 0']);
        yield '9213 2.2: and forbids alone' => $not(['CDN-Cache-Control: no-store', 'Cache-Control: max-age=60']);
        yield '9213 2.2: the most special one counts' => $stored(['Larder-Cache-Control: max-age=60', 'CDN-Cache-Control: no-store']);
        yield '9213 2.1: a malformed one is none' => $not(['CDN-Cache-Control: max-age=60 s', 'Cache-Control: no-store']);
        yield '9213 2.1: an empty one is none' => $stored(['CDN-Cache-Control:', 'Cache-Control: max-age=60']);
        yield '9213 3.1: it is passed on' => [[new Step(lines: ['CDN-Cache-Control: max-age=60'], has: ['CDN-Cache-Control' => 'max-age=60']), new Step(from: 1, has: ['CDN-Cache-Control' => 'max-age=60'])]];
        foreach (['max-age=60', 'no-store'] as $ours) {
            yield "9213 2: nobody else gets ours: $ours" => [[new Step(lines: ["Larder-Cache-Control: $ours", 'Cache-Control: max-age=60'], has: ['Larder-Cache-Control' => null, 'Cache-Control' => 'max-age=60'])]];
        }
        yield '9213 2: nobody else gets ours from the store' => [[new Step(lines: ['Larder-Cache-Control: max-age=60']), new Step(from: 1, has: ['Larder-Cache-Control' => null])]];
        yield '9213 2: a 304 that says nothing about its life keeps the one that was ours' => [[
            new Step(lines: ['Larder-Cache-Control: max-age=60', 'Cache-Control: no-store', 'ETag: "1"', 'Age: 100']),
            new Step(answers: 304, lines: ['ETag: "1"'], body: '', from: 1, gets: 'made by step 1', ran: true, has: ['Larder-Cache-Control' => null]),
            new Step(from: 1),
        ]];
        yield '9110 12.5.5: Vary names a field that others know' => [[
            new Step(fields: ['X-Larder-Device' => 'mobile'], lines: ['Cache-Control: max-age=60', 'Vary: Accept-Language', 'Vary: x-larder-device'], has: ['Vary' => '~^Accept-Language, ?User-Agent(?:,|$)~']),
            new Step(fields: ['X-Larder-Device' => 'other', 'User-Agent' => 'same'], lines: ['Cache-Control: max-age=60', 'Vary: X-Larder-Device, Accept-Language']),
            new Step(fields: ['X-Larder-Device' => 'mobile', 'User-Agent' => 'another'], from: 1, has: ['Vary' => '~^Accept-Language, ?User-Agent(?:,|$)~']),
        ]];
        yield '9110 12.5.5: also in what is not stored' => [[new Step(lines: ['Cache-Control: no-store', 'Vary: X-Larder-Device, Accept'], has: ['Vary' => '~^User-Agent, ?Accept(?:,|$)~'])]];
        yield '9111 7.3: no targeted field lets a cookie be stored' => $not(['Larder-Cache-Control: max-age=60', 'Set-Cookie: a=b']);
        yield 'Edge Architecture 2.2: the application learns of a surrogate' => [[new Step(asked: ['Surrogate-Capability' => 'larder="Surrogate/1.0"'])]];
        yield 'Edge Architecture 2.2: after the others on the way' => [[new Step(fields: ['Surrogate-Capability' => 'cdn="Surrogate/1.0"'], asked: ['Surrogate-Capability' => 'cdn="Surrogate/1.0", larder="Surrogate/1.0"'])]];
        yield 'Edge Architecture 2.3: max-age' => $stored(['Surrogate-Control: content="x", MAX-AGE=60', 'Cache-Control: no-store']);
        yield 'Edge Architecture 2.3: no-store' => $not(['Surrogate-Control: no-store', 'Cache-Control: max-age=60']);
        yield 'Edge Architecture 2.3: for another surrogate' => $not(['Surrogate-Control: max-age=60;cdn', 'Cache-Control: no-store']);
        yield 'Edge Architecture 2.3: for this one' => $stored(['Surrogate-Control: no-store, max-age=60;larder', 'Cache-Control: no-store']);
        yield 'Edge Architecture 2.3: nothing about storing' => $stored(['Surrogate-Control: content="ESI/1.0"', 'Cache-Control: max-age=60']);
        yield '9213 2.2: counts before Surrogate-Control' => $not(['CDN-Cache-Control: no-store', 'Surrogate-Control: max-age=60']);
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function groups(): iterable
    {
        $in = new Step(target: '/a', lines: ['Cache-Control: max-age=60', 'Cache-Groups: "x", "y";p=1']);
        yield '9875 3: an unsafe method invalidates a group' => [[$in, new Step('POST', '/b', lines: ['Cache-Group-Invalidation: "z", "y"']), new Step(target: '/a')]];
        yield '9875 3: another group' => [[$in, new Step('POST', '/b', lines: ['Cache-Group-Invalidation: "z"']), new Step(target: '/a', from: 1)]];
        yield '9875 2.1: groups differ in their case' => [[$in, new Step('POST', '/b', lines: ['Cache-Group-Invalidation: "X"']), new Step(target: '/a', from: 1)]];
        yield '9875 3: a safe method invalidates none' => [[$in, new Step(target: '/b', lines: ['Cache-Group-Invalidation: "x"']), new Step(target: '/a', from: 1)]];
        yield '9875 3: a failed one neither' => [[$in, new Step('POST', '/b', answers: 500, lines: ['Cache-Group-Invalidation: "x"'], status: 500), new Step(target: '/a', from: 1)]];
        foreach (['x', '"x", z', '"x"; "y"'] as $malformed) {
            yield "9875 2: a list of strings, and not $malformed" => [[$in, new Step('POST', '/b', lines: ["Cache-Group-Invalidation: $malformed"]), new Step(target: '/a', from: 1)]];
        }
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function searches(): iterable
    {
        $by = static fn(string $rule, string $query, ?int $from = null): Step => new Step(target: "/a?$query", lines: ['Cache-Control: max-age=60', "No-Vary-Search: $rule"], from: $from);
        yield 'No-Vary-Search: params=("utm")' => [[$by('params=("utm")', 'utm=1&a=1'), $by('params=("utm")', 'a=1&utm=2', 1), $by('params=("utm")', 'a=1', 1), $by('params=("utm")', 'a=2&utm=1')]];
        yield 'No-Vary-Search: names are compared decoded' => [[$by('params=("a b")', 'a+b=1'), $by('params=("a b")', 'a%20b=2', 1)]];
        yield 'No-Vary-Search: params' => [[$by('params', 'a=1'), $by('params', 'b=2', 1), $by('params', '', 1)]];
        yield 'No-Vary-Search: params, except=("q")' => [[$by('params, except=("q")', 'q=1&a=1'), $by('params, except=("q")', 'b=1&q=1', 1), $by('params, except=("q")', 'q=2')]];
        foreach (['q=2', '+q=2', '%20q=2', 'q%00=2', 'q%00x=2', 'q[]=2', 'q%5B%5D=2', 'q[x]=2'] as $other) {
            yield "No-Vary-Search: PHP takes $other for q" => [[$by('params, except=("q")', $other), $by('params, except=("q")', '')]];
        }
        foreach (['a.b=2', 'a+b=2', 'a%2eb=2', 'a[b=2'] as $other) {
            yield "No-Vary-Search: PHP takes $other for a_b" => [[$by('params, except=("a_b")', $other), $by('params, except=("a_b")', '')]];
        }
        yield 'No-Vary-Search: a name that PHP changes is excepted' => [[$by('params, except=("a.b")', 'a_b=1'), $by('params, except=("a.b")', 'a_b=2')]];
        yield 'No-Vary-Search: the order of what PHP takes for one name matters' => [[$by('key-order', 'a.b=1&a_b=2'), $by('key-order', 'a_b=2&a.b=1'), $by('key-order', 'a.b=1&a_b=2', 1)]];
        yield 'No-Vary-Search: key-order' => [[$by('key-order', 'a=1&b=2'), $by('key-order', 'b=2&a=1', 1), $by('key-order', 'b=1&a=2')]];
        yield 'No-Vary-Search: the order of one name matters' => [[$by('key-order', 'a=1&a=2'), $by('key-order', 'a=2&a=1')]];
        yield 'No-Vary-Search: without a rule the order matters' => [[new Step(target: '/a?a=1&b=2'), new Step(target: '/a?b=2&a=1')]];
        foreach (['params=("a"', 'params=(a)', 'params=a', 'except=("b")', 'params=?0, except=("b")', 'key-order=1', 'Params', 'params=("a"), except=("b")'] as $malformed) {
            yield "No-Vary-Search: malformed: $malformed" => [[$by($malformed, 'a=1'), $by($malformed, 'a=2'), $by($malformed, 'a=1', 1)]];
        }
        yield 'No-Vary-Search: one malformed member spoils all' => [[$by('params=a, key-order', 'a=1&b=2'), $by('params=a, key-order', 'b=2&a=1')]];
        yield 'No-Vary-Search: params alone leave the order' => [[$by('params=("utm")', 'a=1&b=2'), $by('params=("utm")', 'b=2&a=1'), $by('params=("utm")', 'a=1&utm=1&b=2', 1)]];
        yield 'No-Vary-Search: of another path' => [[$by('params', 'a=1'), new Step(target: '/b?a=1'), new Step(target: '/b?a=2')]];
        yield 'No-Vary-Search: each path has its pages' => [[
            $by('params', 'a=1'),
            new Step(target: '/b?a=1', lines: ['Cache-Control: max-age=60', 'No-Vary-Search: params']),
            new Step(target: '/b?a=2', from: 2),
            new Step(target: '/a?a=3', from: 1),
        ]];
        $options = ['ignoredQuery' => ['utm_source', 'mtm_*']];
        yield 'No-Vary-Search: parameters that the owner ignores are named' => [[
            new Step(target: '/a?utm_source=1&a=1', has: ['No-Vary-Search' => 'params=("utm_source")']),
            new Step(target: '/a?a=1&mtm_x=1', from: 1, has: ['No-Vary-Search' => 'params=("utm_source")']),
            new Step(target: '/a?utm_source=2&a=1&evil=1'),
            new Step(target: '/a', lines: ['Cache-Control: max-age=60', 'No-Vary-Search: params'], has: ['No-Vary-Search' => 'params']),
        ], $options];
    }
}
