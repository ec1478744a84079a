<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/** RFC 9110: methods, validators, conditions, ranges and content codings. */
final class Semantics
{
    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    public static function rules(): iterable
    {
        yield from self::messages();
        yield from self::codings();
        yield from self::conditions();
        yield from self::ranges();
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function messages(): iterable
    {
        yield '9110 9.3.2: a stored GET answers HEAD, without its body' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'X-A: b']),
            new Step('HEAD', from: 0, ran: false, has: ['X-A' => 'b', 'Content-Length' => '14']),
        ]];
        yield '9110 9.3.2: the response to HEAD is none for GET' => [[
            new Step('HEAD', answers: 404, from: 0, ran: true, body: '', status: 404),
            new Step(answers: 404, from: 2, status: 404),
        ]];
        yield '9110 6.6.1: a response without a date gets one' => [[
            new Step(has: ['Date' => '~^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$~']),
            new Step(from: 1, has: ['Date' => '~ GMT$~']),
        ]];
        yield '9110 7.6.1: fields of a connection are not stored' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Keep-Alive: 5', 'X-Kept: 1', 'Proxy-Authenticate: Basic']),
            new Step(from: 1, has: ['Keep-Alive' => null, 'Proxy-Authenticate' => null, 'X-Kept' => '1']),
        ]];
        yield '9110 15.1: a status that may be kept' => [[
            new Step(answers: 404, status: 404),
            new Step(from: 1, status: 404),
        ]];
        yield '9110 15.4: a redirect is kept with its status' => [[
            new Step(answers: 301, lines: ['Cache-Control: max-age=60', 'Location: /b'], status: 301),
            new Step(from: 1, status: 301, has: ['Location' => '/b']),
        ]];
        yield '9110 15.3.1: a 200 with Location stays a 200' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Location: /b']),
            new Step(from: 1, has: ['Location' => '/b']),
        ]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function codings(): iterable
    {
        $page = \str_repeat('All work and no play. ', 100);
        $text = ['Cache-Control: max-age=60', 'Content-Type: text/html', 'ETag: "1"'];
        $stored = new Step(lines: $text, body: $page, gets: $page);
        $plain = ['Content-Encoding' => null, 'ETag' => '"1"', 'Vary' => 'Accept-Encoding'];
        yield '9110 12.5.3: identity without a word' => [[$stored, new Step(gets: $page, ran: false, has: $plain)]];
        foreach (['gzip;q=0', '*;q=0, identity', 'gzip;q=0.5, identity;q=1', 'br2, x'] as $accepted) {
            yield "9110 12.5.3: identity for $accepted" => [[$stored, new Step(fields: ['Accept-Encoding' => $accepted], gets: $page, ran: false, has: $plain)]];
        }
        foreach (['gzip', 'GZIP', 'gzip;q=0.1', 'gzip;q=1.0, identity;q=0.5', '*;q=0.5, br;q=0, zstd;q=0'] as $accepted) {
            yield "9110 12.5.3: gzip for $accepted" => [[$stored, new Step('HEAD', fields: ['Accept-Encoding' => $accepted], from: 0, ran: false, has: ['Content-Encoding' => 'gzip', 'Vary' => 'Accept-Encoding'])]];
        }
        yield '9110 8.8.3.3: each coding has an entity tag of its own' => [[$stored, new Step('HEAD', fields: ['Accept-Encoding' => 'gzip'], from: 0, ran: false, has: ['ETag' => '"1-gzip"'])]];
        yield '9110 8.8.3.3: a weak tag is that of all codings' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Content-Type: text/html', 'ETag: W/"1"'], body: $page, gets: $page),
            new Step('HEAD', fields: ['Accept-Encoding' => 'gzip'], from: 0, ran: false, has: ['ETag' => 'W/"1"']),
        ]];
        foreach (['"1"', '"1-gzip"'] as $tag) {
            yield "9110 13.1.2: $tag is held" => [[$stored, new Step(fields: ['Accept-Encoding' => 'gzip', 'If-None-Match' => $tag], from: 0, ran: false, status: 304, has: ['ETag' => '"1-gzip"'])]];
        }
        yield '9110 8.4: what the application has coded goes to who accepts it' => [[
            new Step(fields: ['Accept-Encoding' => 'x'], lines: ['Cache-Control: max-age=60', 'Content-Encoding: x']),
            new Step(lines: ['Cache-Control: max-age=60']),
            new Step(fields: ['Accept-Encoding' => 'x'], from: 2, has: ['Content-Encoding' => null]),
        ]];
        yield '9110 8.4: nor is it coded again' => [[
            new Step(fields: ['Accept-Encoding' => 'x, gzip'], lines: ['Cache-Control: max-age=60', 'Content-Type: text/html', 'Content-Encoding: x'], body: $page, gets: $page),
            new Step(fields: ['Accept-Encoding' => 'x, gzip'], gets: $page, ran: false, has: ['Content-Encoding' => 'x']),
        ]];
        yield '9110 8.4: it depends on Accept-Encoding' => [[
            new Step(fields: ['Accept-Encoding' => 'x'], lines: ['Cache-Control: max-age=60', 'Content-Encoding: x'], has: ['Vary' => 'Accept-Encoding']),
            new Step(fields: ['Accept-Encoding' => 'y'], lines: ['Cache-Control: max-age=60', 'Content-Encoding: y', 'Vary: accept-encoding'], has: ['Vary' => 'accept-encoding']),
            new Step(fields: ['Accept-Encoding' => 'x'], from: 1, has: ['Content-Encoding' => 'x']),
        ]];
        yield '9111 5.2.2.6: no-transform' => [[
            new Step(lines: ['Cache-Control: max-age=60, no-transform', 'Content-Type: text/html'], body: $page, gets: $page),
            new Step(fields: ['Accept-Encoding' => 'gzip'], gets: $page, ran: false, has: ['Content-Encoding' => null]),
        ]];
        yield '9110 8.4: an image is not compressed again' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Content-Type: image/png'], body: $page, gets: $page),
            new Step(fields: ['Accept-Encoding' => 'gzip'], gets: $page, ran: false, has: ['Content-Encoding' => null]),
        ]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function conditions(): iterable
    {
        $tagged = new Step(lines: ['Cache-Control: max-age=60', 'ETag: "1"', 'Content-Type: text/plain', 'Vary: X-A', 'Content-Location: /a', 'X-B: c']);
        $held = static fn(string $tags): Step => new Step(fields: ['If-None-Match' => $tags], from: 0, ran: false, status: 304);
        yield '9110 15.4.5: what a 304 repeats' => [[$tagged, new Step(
            fields: ['If-None-Match' => '"1"'],
            from: 0,
            ran: false,
            status: 304,
            has: ['ETag' => '"1"', 'Cache-Control' => 'max-age=60', 'Vary' => 'X-A', 'Content-Location' => '/a', 'Date' => '~GMT~', 'Age' => '~^\d+$~', 'Content-Type' => null, 'X-B' => null],
        )]];
        foreach (['"1"', 'W/"1"', '"0", "1"', '*', '"a,b" , W/"1"'] as $tags) {
            yield "9110 13.1.2: held: $tags" => [[$tagged, $held($tags)]];
        }
        foreach (['"2"', '1', '"', 'W/', '"x"1"', '"1'] as $tags) {
            yield "9110 13.1.2: not held: $tags" => [[$tagged, new Step(fields: ['If-None-Match' => $tags], from: 1)]];
        }
        yield '9110 13.1.2: a weak stored tag is held by weak comparison' => [[new Step(lines: ['Cache-Control: max-age=60', 'ETag: W/"1"']), $held('"1"')]];
        yield '9110 13.1.2: a 404 is not answered by 304' => [[
            new Step(answers: 404, lines: ['Cache-Control: max-age=60', 'ETag: "1"'], status: 404),
            new Step(fields: ['If-None-Match' => '"1"'], from: 1, status: 404),
        ]];
        yield '9110 13.1.2: who misses with a condition gets the answer to it' => [[
            new Step(fields: ['If-None-Match' => '"1"'], lines: ['Cache-Control: max-age=60', 'ETag: "1"'], from: 0, ran: true, status: 304, asked: ['If-None-Match' => null]),
            new Step(from: 1, ran: false),
        ]];
        foreach (['If-Match' => '"2"', 'If-Unmodified-Since' => 'Sun, 06 Nov 1994 08:49:37 GMT'] as $name => $value) {
            yield "9111 4.3.2: $name is the application's to judge" => [[
                new Step(fields: [$name => $value], answers: 412, lines: ['Cache-Control: max-age=60'], status: 412, asked: [$name => $value]),
                new Step(fields: [$name => $value], asked: [$name => $value]),
                new Step(),
                new Step(fields: [$name => $value], from: 3),
            ]];
        }
        $changed = new Step(lines: ['Cache-Control: max-age=60', 'Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT']);
        foreach (['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994', 'Sun, 06 Nov 1994 08:49:38 GMT'] as $since) {
            yield "9110 13.1.3: not modified since $since" => [[$changed, new Step(fields: ['If-Modified-Since' => $since], from: 0, ran: false, status: 304)]];
        }
        foreach (['Sun, 06 Nov 1994 08:49:36 GMT', '1994-11-06', 'Sun, 06 Nov 2094'] as $since) {
            yield "9110 13.1.3: modified since $since, or it is none" => [[$changed, new Step(fields: ['If-Modified-Since' => $since], from: 1)]];
        }
        yield '9110 13.2.2: If-None-Match counts before If-Modified-Since' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'ETag: "1"', 'Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT']),
            new Step(fields: ['If-None-Match' => '"2"', 'If-Modified-Since' => 'Sun, 06 Nov 1994 08:49:37 GMT'], from: 1),
            new Step(fields: ['If-None-Match' => '"1"', 'If-Modified-Since' => 'Sun, 06 Nov 1984 08:49:37 GMT'], from: 0, ran: false, status: 304),
        ]];
    }

    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    private static function ranges(): iterable
    {
        $whole = new Step(lines: ['Cache-Control: max-age=60', 'ETag: "1"', 'Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT'], body: '0123456789', gets: '0123456789');
        foreach (['2-4' => ['234', '2-4'], '7-' => ['789', '7-9'], '-2' => ['89', '8-9'], '8-99' => ['89', '8-9'], '-99' => ['0123456789', '0-9']] as $range => [$part, $is]) {
            yield "9110 14.1.2: bytes=$range" => [[$whole, new Step(fields: ['Range' => "bytes=$range"], gets: $part, ran: false, status: 206, has: ['Content-Range' => "bytes $is/10", 'Content-Length' => (string) \strlen($part)])]];
        }
        foreach (['10-', '99-100', '-0'] as $range) {
            yield "9110 15.5.17: bytes=$range cannot be satisfied" => [[$whole, new Step(fields: ['Range' => "bytes=$range"], gets: '', ran: false, status: 416, has: ['Content-Range' => 'bytes */10'])]];
        }
        foreach (['bytes=0-1,3-4', 'lines=0-1', 'bytes=4-2', 'bytes=', 'bytes=-', 'bytes=a-b'] as $range) {
            yield "9110 14.2: all of it for $range" => [[$whole, new Step(fields: ['Range' => $range], gets: '0123456789', ran: false, has: ['Content-Range' => null])]];
        }
        yield '9110 14.2: HEAD has no ranges' => [[$whole, new Step('HEAD', fields: ['Range' => 'bytes=0-1'], gets: '', ran: false, has: ['Content-Length' => '10'])]];
        foreach (['"1"' => true, 'W/"1"' => false, '"2"' => false, 'Sun, 06 Nov 1994 08:49:37 GMT' => true, 'Sun, 06 Nov 1994 08:49:38 GMT' => false] as $if => $holds) {
            yield "9110 13.1.5: If-Range: $if" => [[$whole, new Step(fields: ['Range' => 'bytes=0-1', 'If-Range' => $if], gets: $holds ? '01' : '0123456789', ran: false, status: $holds ? 206 : 200)]];
        }
        $now = \gmdate('D, d M Y H:i:s', \time() + 60) . ' GMT';
        yield '9110 8.8.2.2: a page changed in the second of its Date has no strong date' => [[
            new Step(lines: ['Cache-Control: max-age=86400', "Last-Modified: $now", "Date: $now"], body: '0123456789', gets: '0123456789'),
            new Step(fields: ['Range' => 'bytes=0-1', 'If-Range' => $now], gets: '0123456789', ran: false),
        ]];
        yield '9110 13.2.2: a condition counts before the range' => [[$whole, new Step(fields: ['Range' => 'bytes=0-1', 'If-None-Match' => '"1"'], from: 0, ran: false, status: 304)]];
        yield '9111 3.3: a part is passed on and not stored' => [[
            new Step(fields: ['Range' => 'bytes=0-1'], answers: 206, lines: ['Cache-Control: max-age=60', 'Content-Range: bytes 0-1/9'], status: 206, asked: ['Range' => 'bytes=0-1']),
            new Step(from: 2),
        ]];
        yield '9111 3.3: nor is one that nobody has asked for' => [[new Step(answers: 206, status: 206), new Step()]];
        yield '9110 14.4: Content-Range means nothing in a 200' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Content-Range: x'], body: '0123456789', gets: '0123456789'),
            new Step(gets: '0123456789', ran: false),
            new Step(fields: ['Range' => 'bytes=0-1'], gets: '01', ran: false, status: 206, has: ['Content-Range' => 'bytes 0-1/10']),
        ]];
        yield '9110 14.4: but one of bytes tells that the page may be a part' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'Content-Range: bytes 0-1/9'], body: '0123456789', gets: '0123456789'),
            new Step(),
        ]];
    }
}
