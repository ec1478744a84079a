<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/** RFC 9111, sections 5.2.1 and 5.4: what a request may ask of a cache. */
final class Directives
{
    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> */
    public static function rules(): iterable
    {
        $aged = new Step(lines: ['Cache-Control: max-age=600', 'Age: 100', 'ETag: "1"']);
        $asks = static fn(string $control, ?int $from = null, ?string $status = null): Step => new Step(fields: ['Cache-Control' => $control], lines: ['Cache-Control: max-age=600'], from: $from, has: $status === null ? [] : ['Cache-Status' => $status]);
        yield '9111 5.2.1.1: max-age over the age' => [[$aged, $asks('max-age=200', 1)]];
        yield '9111 5.2.1.1: max-age below the age' => [[$aged, $asks('max-age=50', status: '~fwd=request~')]];
        yield '9111 5.2.1.1: max-age=0' => [[new Step(), $asks('max-age=0'), new Step(from: 2)]];
        yield '9111 5.2.1.3: min-fresh below what is left' => [[$aged, $asks('min-fresh=400', 1)]];
        yield '9111 5.2.1.3: min-fresh over what is left' => [[$aged, $asks('min-fresh=550', status: '~fwd=request~')]];
        yield '9111 5.2.1.3: min-fresh counts more than stale-while-revalidate' => [[
            new Step(lines: ['Cache-Control: max-age=60, stale-while-revalidate=100', 'Age: 70', 'ETag: "1"']),
            $asks('min-fresh=1'),
        ]];
        yield '9111 5.2.1.4: no-cache' => [[$aged, $asks('no-cache', status: '~fwd=request~'), new Step(from: 2)]];
        yield '9111 5.2.1.4: no-cache asks if the page is still right' => [[
            $aged,
            new Step(fields: ['Cache-Control' => 'no-cache'], answers: 304, lines: ['ETag: "1"', 'Cache-Control: max-age=600'], from: 1, ran: true, asked: ['If-None-Match' => '"1"']),
        ]];
        yield '9111 5.2.1.5: no-store stores nothing' => [[$asks('no-store'), new Step(from: 2)]];
        yield '9111 5.2.1: names in any case, among others' => [[$aged, $asks('foo, NO-CACHE ,bar=1')]];
        yield '9111 5.2.1: an unknown directive is ignored' => [[$aged, $asks('foo, bar="no-cache"', 1)]];
        $stale = new Step(lines: ['Cache-Control: max-age=60', 'Age: 100', 'ETag: "1"']);
        yield '9111 5.2.1.2: max-stale' => [[$stale, $asks('max-stale', 1, '~hit; ttl=-~')]];
        yield '9111 5.2.1.2: max-stale over what it is' => [[$stale, $asks('max-stale=200', 1)]];
        yield '9111 5.2.1.2: max-stale below what it is' => [[$stale, $asks('max-stale=10', status: '~fwd=stale~')]];
        foreach (['must-revalidate', 'proxy-revalidate', 's-maxage=60', 'no-cache'] as $directive) {
            yield "9111 5.2.1.2: $directive counts more than max-stale" => [[
                new Step(lines: ["Cache-Control: max-age=60, $directive", 'Age: 100', 'ETag: "1"']),
                $asks('max-stale'),
            ]];
        }
        yield '9111 5.2.1.7: only-if-cached' => [[
            new Step(fields: ['Cache-Control' => 'only-if-cached'], gets: '', ran: false, status: 504, has: ['Cache-Status' => 'Larder; detail="only-if-cached"']),
            new Step(),
            $asks('only-if-cached', 2),
        ]];
        yield '9111 5.4: Pragma without Cache-Control' => [[new Step(), new Step(fields: ['Pragma' => 'no-cache']), new Step(fields: ['Pragma' => 'no-cache', 'Cache-Control' => 'max-age=60'], from: 2)]];
        yield '9111 5.2.1: the owner may ignore what clients ask' => [[
            $aged, $asks('no-cache', 1), $asks('max-age=0', 1), new Step(fields: ['Pragma' => 'no-cache'], from: 1),
        ], ['clientControl' => false]];
    }
}
