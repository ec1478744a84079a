<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/** RFC 9111, section 4: when a stored response answers, its age, its variants, validation and invalidation. */
final class Reuse
{
    private const OLD = ['Cache-Control: max-age=60', 'Age: 61', 'ETag: "1"', 'Content-Type: text/plain', 'X-A: old'];

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    public static function rules(): iterable
    {
        yield from self::freshness();
        yield from self::variants();
        yield from self::failures();
        yield from self::validation();
        yield from self::invalidation();
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function freshness(): iterable
    {
        $date = static fn(int $seconds): string => \gmdate('D, d M Y H:i:s', \time() + $seconds) . ' GMT';
        $fresh = [
            '4.2.1: max-age' => ['Cache-Control: max-age=60'],
            '4.2.1: s-maxage before max-age' => ['Cache-Control: max-age=0, s-maxage=60'],
            '4.2.1: max-age before Expires' => ['Cache-Control: max-age=60', 'Expires: ' . $date(-60)],
            '4.2.1: Expires' => ['Expires: ' . $date(86_400)],
            '4.2.2: a tenth of the time since the last change' => ['Last-Modified: ' . $date(-86_400)],
            '4.2.3: an Age below the life' => ['Cache-Control: max-age=60', 'Age: 30'],
            '5.1: an Age that is none' => ['Cache-Control: max-age=60', 'Age: x'],
            '5.1: two Ages' => ['Cache-Control: max-age=60', 'Age: 0, 61'],
            '4.2.3: a Date in the past below the life' => ['Cache-Control: max-age=86400', 'Date: ' . $date(-60)],
        ];
        foreach ($fresh as $rule => $lines) {
            yield "9111 $rule is fresh" => [[new Step(lines: $lines, has: ['Cache-Status' => '~; stored(; ttl=\d+)?$~']), new Step(from: 1, has: ['Age' => '~^\d+$~', 'Cache-Status' => '~^Larder; hit; ttl=\d+$~'])]];
        }
        $stale = [
            '4.2.1: s-maxage before max-age' => ['Cache-Control: max-age=60, s-maxage=0'],
            '4.2.1: max-age before Expires' => ['Cache-Control: max-age=0', 'Expires: ' . $date(600)],
            '4.2.1: Expires' => ['Expires: ' . $date(-1)],
            '4.2.1: of several the first' => ['Cache-Control: max-age=0', 'Cache-Control: max-age=60'],
            '5.3: an Expires that is no date' => ['Expires: 0'],
            '5.3: several Expires' => ['Expires: ' . $date(600), 'Expires: ' . $date(700)],
            '4.2.3: an Age over the life' => ['Cache-Control: max-age=60', 'Age: 61'],
            '4.2.3: a Date in the past over the life' => ['Cache-Control: max-age=60', 'Date: ' . $date(-61)],
            '4.2.3: a Date in the past counts with Expires' => ['Expires: ' . $date(-10), 'Date: ' . $date(-60)],
            '5.1: the first of several Ages' => ['Cache-Control: max-age=60', 'Age: 61, 0'],
            '5.2.2.4: no-cache' => ['Cache-Control: max-age=60, no-cache'],
            '5.2.2.4: no-cache with fields' => ['Cache-Control: max-age=60, no-cache="x-a"'],
        ];
        foreach ($stale as $rule => $lines) {
            yield "9111 $rule is stale" => [[new Step(lines: [...$lines, 'ETag: "1"']), new Step(has: ['Cache-Status' => '~fwd=stale~'], asked: ['If-None-Match' => '"1"'])]];
        }
        yield '9111 4.2.2: a status that has no heuristic' => [[
            new Step(answers: 302, lines: ['Last-Modified: ' . $date(-86_400)], status: 302),
            new Step(answers: 302, status: 302),
        ]];
        yield '9111 5.1: Age is told, and told on' => [[
            new Step(lines: ['Cache-Control: max-age=600', 'Age: 30'], has: ['Age' => '30']),
            new Step(from: 1, has: ['Age' => '~^3\d$~']),
            new Step('HEAD', from: 0, ran: false, has: ['Age' => '~^3\d$~']),
            new Step(fields: ['Range' => 'bytes=0-3'], gets: 'made', ran: false, status: 206, has: ['Age' => '~^3\d$~']),
        ]];
        yield '9111 5.1: what was just made has no age' => [[new Step(has: ['Age' => null])]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function variants(): iterable
    {
        $by = static fn(string $field, ?string $value, ?int $from = null, array $has = []): Step => new Step(fields: $value === null ? [] : [$field => $value], lines: ['Cache-Control: max-age=60', "Vary: $field"], from: $from, has: $has);
        yield '9111 4.1: each variant is stored' => [[
            $by('X-A', '1'), $by('X-A', '2', has: ['Cache-Status' => '~fwd=vary-miss~']), $by('X-A', null), $by('X-A', '1', 1), $by('X-A', '2', 2), $by('X-A', null, 3), $by('X-A', ''),
        ]];
        yield '9111 4.1: white space does not matter' => [[$by('X-A', '1,2;q=1'), $by('X-A', '1 , 2 ;q=1', 1), $by('X-A', '1 2')]];
        foreach (['"1, 2"' => '"1,2"', 'a (1, 2)' => 'a (1,2)'] as $one => $other) {
            yield "9111 4.1: within quotes and comments it does: $one" => [[$by('X-A', $one), $by('X-A', $other), $by('X-A', $one, 1)]];
        }
        yield '9111 4.1: and in what is no list' => [[$by('User-Agent', 'a, b'), $by('User-Agent', 'a,b')]];
        yield '9111 4.1: the case of what is no language matters' => [[$by('Accept-Language', 'en, x"Y"'), $by('Accept-Language', 'en, x"y"')]];
        yield '9111 4.1: a response that omits Vary does not take the place of those that have it' => [[
            $by('X-A', '1'), new Step(), $by('X-A', '1', 1), new Step(from: 2), $by('X-A', '2'), new Step(from: 2),
        ]];
        yield '9111 4.1: the order and the case of languages do not matter' => [[
            $by('Accept-Language', 'de, en;q=0.5'), $by('Accept-Language', 'EN;q=0.5,De', 1), $by('Accept-Language', 'de;q=0.5, en'),
        ]];
        yield '9111 4.1: the order of others does' => [[$by('X-A', '1,2'), $by('X-A', '2,1'), $by('X-A', '1,2', 1)]];
        yield '9111 4.1: several fields' => [[
            new Step(fields: ['X-A' => '1', 'X-B' => '1'], lines: ['Cache-Control: max-age=60', 'Vary: X-A', 'Vary: x-b']),
            new Step(fields: ['X-A' => '1', 'X-B' => '2'], lines: ['Cache-Control: max-age=60', 'Vary: X-A, X-B']),
            new Step(fields: ['X-A' => '1', 'X-B' => '1'], from: 1),
        ]];
        yield '9111 4.1: responses that depend on different fields' => [[
            $by('X-A', '1'),
            new Step(fields: ['X-A' => '2', 'X-B' => '1'], lines: ['Cache-Control: max-age=60', 'Vary: X-B']),
            new Step(fields: ['X-A' => '1'], from: 1),
            new Step(fields: ['X-A' => '3', 'X-B' => '1'], from: 2),
        ]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function failures(): iterable
    {
        $strict = static fn(string $directive): array => ["Cache-Control: max-age=60, $directive", 'Age: 61', 'ETag: "1"'];
        foreach ([500, 502, 503, 504] as $status) {
            yield "9111 4.2.4: a stale page in the place of a $status" => [[
                new Step(lines: self::OLD),
                new Step(answers: $status, lines: [], from: 1, ran: true, has: ['Cache-Status' => "~fwd=stale; fwd-status=$status; ttl=-\d+~"]),
            ]];
        }
        foreach (['must-revalidate', 'proxy-revalidate', 's-maxage=60', 'no-cache'] as $directive) {
            yield "9111 4.2.4: $directive forbids a stale page" => [[
                new Step(lines: $strict($directive)),
                new Step(answers: 503, lines: [], status: 503),
            ]];
        }
        yield '9111 4.3.3: an error that says its life does not replace a page' => [[
            new Step(lines: $strict('must-revalidate')),
            new Step(answers: 503, status: 503),
            new Step(lines: $strict('must-revalidate'), asked: ['If-None-Match' => '"1"']),
        ]];
        yield '9110 15.6: an error that says its life is kept where there is no page' => [[
            new Step(answers: 503, status: 503),
            new Step(from: 1, status: 503),
        ]];
        yield '9111 4.2.4: a 404 is no failure' => [[new Step(lines: self::OLD), new Step(answers: 404, lines: [], status: 404), new Step(lines: [])]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function validation(): iterable
    {
        $modified = 'Sun, 06 Nov 1994 08:49:37 GMT';
        $old = new Step(lines: [...self::OLD, "Last-Modified: $modified"]);
        yield '9111 4.3.1: the application is asked by both validators' => [[$old, new Step(asked: ['If-None-Match' => '"1"', 'If-Modified-Since' => $modified])]];
        yield '9111 4.3.1: no validator, no condition' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Expires: 0']),
            new Step(fields: ['Cache-Control' => 'no-cache'], asked: ['If-None-Match' => null, 'If-Modified-Since' => null]),
        ]];
        yield '9111 4.3.1: the visitor who asks of the same page' => [[
            $old,
            new Step(fields: ['If-None-Match' => '"1"'], answers: 304, lines: ['ETag: "1"'], from: 0, ran: true, status: 304, asked: ['If-None-Match' => '"1"']),
        ]];
        yield '9111 4.3.1: the visitor who asks of another page' => [[
            $old,
            new Step(fields: ['If-None-Match' => '"2"'], lines: ['Cache-Control: max-age=60', 'ETag: "2"'], from: 0, ran: true, status: 304, asked: ['If-None-Match' => null, 'If-Modified-Since' => null]),
            new Step(from: 2, ran: false),
        ]];
        yield '9111 4.3.2: a page without Last-Modified was changed at its Date' => [[
            new Step(lines: ['Cache-Control: max-age=86400', 'Date: ' . ($date = \gmdate('D, d M Y H:i:s', \time() - 60) . ' GMT')]),
            new Step(fields: ['If-Modified-Since' => $date], from: 0, ran: false, status: 304),
            new Step(fields: ['If-Modified-Since' => \gmdate('D, d M Y H:i:s', \time() - 120) . ' GMT'], from: 1),
        ]];
        yield '9111 4.3.3: a 200 replaces the page' => [[$old, new Step(), new Step(from: 2)]];
        yield '9111 4.3.4: a 304 makes the page fresh, with its own fields' => [[
            $old,
            new Step(answers: 304, lines: ['ETag: "1"', 'Cache-Control: max-age=60', 'X-A: new', 'Content-Type: text/html'], from: 1, ran: true, has: ['X-A' => 'new', 'Content-Type' => 'text/html', 'ETag' => '"1"', 'Cache-Status' => 'Larder; fwd=stale; fwd-status=304; stored']),
            new Step(from: 1, ran: false, has: ['X-A' => 'new', 'Content-Type' => 'text/html', 'Last-Modified' => $modified, 'Cache-Status' => '~hit~']),
        ]];
        yield '9111 3.2: what describes the bytes is not updated' => [[
            $old,
            new Step(answers: 304, lines: ['ETag: "1"', 'Cache-Control: max-age=60', 'Content-Encoding: gzip', 'Content-Range: bytes 0-1/2'], from: 1, ran: true, has: ['Content-Encoding' => null, 'Content-Range' => null]),
            new Step(from: 1, has: ['Content-Encoding' => null, 'Content-Length' => '14']),
        ]];
        yield '9111 4.3.4: a 304 without a validator is of the only page' => [[
            $old,
            new Step(answers: 304, lines: ['Cache-Control: max-age=60'], from: 1, ran: true),
            new Step(from: 1, ran: false, has: ['Content-Type' => 'text/plain', 'X-A' => 'old']),
        ]];
        yield '9110 6.6.1: a 304 without a date was made now' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Date: ' . \gmdate('D, d M Y H:i:s', \time() - 70) . ' GMT', 'ETag: "1"']),
            new Step(answers: 304, lines: ['Cache-Control: max-age=60', 'ETag: "1"'], from: 1, ran: true),
            new Step(from: 1, ran: false),
        ]];
        foreach (['ETag: "2"', 'Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT'] as $other) {
            yield "9111 4.3.4: a 304 of another page updates nothing: $other" => [[
                $old,
                new Step(answers: 304, lines: [$other, 'Cache-Control: max-age=60', 'X-A: new'], from: 1, ran: true, has: ['X-A' => 'old', 'ETag' => '"1"', 'Cache-Status' => '~fwd=stale; fwd-status=304~']),
                new Step(asked: ['If-None-Match' => null, 'If-Modified-Since' => null]),
            ]];
        }
        yield '9111 4.3.4: a 304 that sets a cookie is for its visitor' => [[
            $old,
            new Step(answers: 304, lines: ['ETag: "1"', 'Cache-Control: max-age=60', 'Set-Cookie: a=b'], from: 1, ran: true, has: ['Set-Cookie' => 'a=b']),
            new Step(has: ['Set-Cookie' => null]),
        ]];
        yield '9111 4.3.4: an Age of the 304 counts' => [[
            $old,
            new Step(answers: 304, lines: ['ETag: "1"', 'Cache-Control: max-age=60', 'Age: 61'], from: 1, ran: true),
            new Step(has: ['Cache-Status' => '~fwd=stale~']),
        ]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function invalidation(): iterable
    {
        $fresh = new Step(target: '/a');
        $again = new Step(target: '/a', from: 3);
        $kept = new Step(target: '/a', from: 1);
        foreach (['POST', 'PUT', 'DELETE', 'PATCH', 'M-SEARCH'] as $method) {
            yield "9111 4.4: $method invalidates" => [[$fresh, new Step($method, '/a', lines: []), $again]];
            yield "9111 4.4: $method invalidates where Location points" => [[$fresh, new Step($method, '/b', lines: ['Location: a#x']), $again]];
            yield "9111 4.4: $method invalidates by an address without a scheme" => [[$fresh, new Step($method, '/b', lines: ['Location: //{authority}/a']), $again]];
            yield "9111 4.4: $method invalidates where Content-Location points" => [[$fresh, new Step($method, '/b', lines: ['Content-Location: {origin}/a#x']), $again]];
        }
        yield '9111 4.4: a redirect is no error' => [[$fresh, new Step('POST', '/a', answers: 303, lines: [], status: 303), $again]];
        foreach ([404, 500] as $status) {
            yield "9111 4.4: a $status invalidates nothing" => [[$fresh, new Step('POST', '/a', answers: $status, lines: [], status: $status), $kept]];
        }
        foreach (['OPTIONS', 'HEAD', 'QUERY', 'PROPFIND'] as $method) {
            yield "9110 9.2.1: $method is safe" => [[$fresh, new Step($method, '/a', lines: [], body: '', from: 0, ran: $method !== 'HEAD'), $kept]];
        }
        yield '9111 4.4: another origin has no say' => [[$fresh, new Step('POST', '/b', lines: ['Location: http://other.example/a', 'Content-Location: //other.example/a']), $kept]];
        yield '9111 4.4: all variants' => [[
            new Step(target: '/a', fields: ['X-A' => '1'], lines: ['Cache-Control: max-age=60', 'Vary: X-A']),
            new Step(target: '/a', fields: ['X-A' => '2'], lines: ['Cache-Control: max-age=60', 'Vary: X-A']),
            new Step('POST', '/a'),
            new Step(target: '/a', fields: ['X-A' => '1']),
        ]];
        yield '9111 4.4: what is the same by a No-Vary-Search rule' => [[
            new Step(target: '/a?x=1', lines: ['Cache-Control: max-age=60', 'No-Vary-Search: params=("x")']),
            new Step('POST', '/a?x=2', lines: []),
            new Step(target: '/a?x=3'),
        ]];
    }
}
