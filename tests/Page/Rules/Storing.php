<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/** What is stored, and what makes a response private (RFC 9111, section 3, and what this cache asks beyond it). */
final class Storing
{
    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    public static function rules(): iterable
    {
        $fresh = new Step();
        $never = static fn(array $lines, int $status = 200): array => [[
            new Step(answers: $status, lines: $lines, status: $status),
            new Step(answers: $status, lines: $lines, status: $status, has: ['Cache-Status' => '~fwd=uri-miss; detail="~']),
        ]];
        foreach (['no-store', 'private', 'private="x-a"', 'No-Store', 'max-age=0', 'max-age=x'] as $directive) {
            yield "9111 3: not stored: $directive" => $never(["Cache-Control: $directive" . (\str_contains($directive, 'max-age') ? '' : ', max-age=60')]);
        }
        yield '9111 3: nothing said, not stored' => $never([]);
        yield '9111 3: nothing said, the owner does' => [[new Step(lines: []), new Step(from: 1)], ['ttl' => 60]];
        yield '9111 4.1: Vary: *' => $never(['Cache-Control: max-age=60', 'Vary: X-A, *']);
        yield '9111 7.3: what sets a cookie is private' => $never(['Cache-Control: public, max-age=60', 'Set-Cookie: a=b']);
        yield '9111 3: a status whose meaning is unknown, with must-understand' => $never(['Cache-Control: max-age=60, must-understand'], 299);
        yield '9111 5.2.2.3: must-understand overrides no-store' => [[new Step(lines: ['Cache-Control: max-age=60, must-understand, no-store']), new Step(from: 1)]];
        yield '9111 3: the response to POST' => [[
            new Step('POST', lines: ['Cache-Control: max-age=60', 'Content-Location: /page'], has: ['Cache-Status' => 'Larder; fwd=method']),
            new Step(from: 2),
        ]];
        yield '9111 3.5: an authorized request is neither stored nor answered' => [[
            new Step(fields: ['Authorization' => 'Basic YTpi'], lines: ['Cache-Control: public, s-maxage=60'], has: ['Cache-Status' => '~fwd=bypass; detail="~']),
            new Step(lines: ['Cache-Control: public, s-maxage=60']),
            new Step(fields: ['Authorization' => 'Basic YTpi']),
        ]];
        yield '9111 7.3: a cookie that nobody knows' => [[
            new Step(fields: ['Cookie' => 'session=1']),
            $fresh,
            new Step(fields: ['Cookie' => 'session=1'], has: ['Cache-Status' => '~fwd=bypass; detail="~']),
            new Step(from: 2),
        ]];
        yield '9111 7.3: a cookie that the owner ignores, or that is known' => [[
            $fresh,
            new Step(fields: ['Cookie' => 'mine=1'], from: 1),
            new Step(fields: ['Cookie' => 'mine=2; other=1']),
        ], ['ignoredCookies' => ['mine']]];
        yield '9111 7.3: a cookie of analytics' => [[$fresh, new Step(fields: ['Cookie' => '_ga=1; _fbp=2'], from: 1)]];
        yield '9111 7.3: a cookie on which the owner says pages depend' => [[
            new Step(fields: ['Cookie' => 'theme=dark']),
            new Step(fields: ['Cookie' => 'theme=light']),
            new Step(fields: ['Cookie' => 'theme=dark'], from: 1),
            new Step(),
        ], ['varyCookies' => ['theme']]];
        yield '9111 2: another query is another page' => [[new Step(target: '/page?a=1'), new Step(target: '/page?a=2'), new Step(), new Step(target: '/page?a=1', from: 1)]];
        yield '9111 3.1: fields are stored as they came' => [[
            new Step(lines: ['Cache-Control: max-age=60', 'X-A: 1', 'X-A: 2', 'Content-Type: text/x;a="b,c"']),
            new Step(from: 1, has: ['X-A' => '1, 2', 'Content-Type' => 'text/x;a="b,c"']),
        ]];
    }
}
