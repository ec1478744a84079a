<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Page\Http\HttpDate;
use Larder\Page\Policy;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What a shared cache may store, and for how long, by the sections that the names give. */
final class PolicyTest extends TestCase
{
    private const NOW = 1_700_000_000;

    /** @param array<string, string|list<string>> $fields */
    #[DataProvider('responses')]
    public function testALife(array $fields, ?int $life, int $status = 200, ?int $ttl = null): void
    {
        $policy = Policy::of($status, \array_map(static fn(string|array $lines): array => (array) $lines, $fields), self::NOW, $ttl);
        self::assertSame($life, $policy->reason === '' ? $policy->life : null, $policy->reason);
    }

    /** @return iterable<string, array{0: array<string, string|list<string>>, 1: ?int, 2?: int, 3?: ?int}> life null: not stored */
    public static function responses(): iterable
    {
        $date = static fn(int $seconds): string => HttpDate::format(self::NOW + $seconds);
        yield '9111 4.2.1: max-age' => [['cache-control' => 'max-age=60'], 60];
        yield '9111 4.2.1: s-maxage first' => [['cache-control' => 'max-age=60, s-maxage=5'], 5];
        yield '9111 4.2.1: max-age before Expires' => [['cache-control' => 'max-age=60', 'expires' => $date(5)], 60];
        yield '9111 4.2.1: Expires less Date' => [['expires' => $date(100), 'date' => $date(40)], 60];
        yield '9111 4.2.1: Expires less now' => [['expires' => $date(100)], 100];
        yield '9111 4.2.1: of two the first' => [['cache-control' => ['max-age=7', 'max-age=60']], 7];
        yield '9111 5.3: Expires that is no date' => [['expires' => '0', 'etag' => '"a"'], 0];
        yield '9111 5.3: two Expires' => [['expires' => [$date(100), $date(200)], 'etag' => '"a"'], 0];
        yield '9111 1.2.2: a number too large' => [['cache-control' => 'max-age=99999999999'], 0x7FFFFFFF];
        yield '9111 4.2.1: no number' => [['cache-control' => 'max-age=abc', 'etag' => '"a"'], 0];
        yield '9111 4.2.1: a negative number' => [['cache-control' => 'max-age=-1'], null];
        yield '9111 5.2: a quoted number' => [['cache-control' => 'max-age="60"'], 60];
        yield '9111 5.2: names in any case' => [['cache-control' => 'MAX-AGE=60'], 60];
        yield '9111 5.2.2.5: no-store' => [['cache-control' => 'no-store, max-age=60'], null];
        yield '9111 5.2.2.7: private' => [['cache-control' => 'private, max-age=60'], null];
        yield '9111 5.2.2.7: private with fields' => [['cache-control' => 'private="x-user", max-age=60'], null];
        yield '9111 5.2.2.4: no-cache' => [['cache-control' => 'no-cache, max-age=60', 'etag' => '"a"'], 0];
        yield '9111 5.2.2.3: must-understand' => [['cache-control' => 'no-store, must-understand, max-age=60'], 60];
        yield '9111 5.2.2.3: a status that is not understood' => [['cache-control' => 'must-understand, max-age=60'], null, 299];
        yield '9111 4.2.2: a tenth of the age' => [['last-modified' => $date(-1000)], 100];
        yield '9111 4.2.2: a day at most' => [['last-modified' => $date(-100 * 86_400)], 86_400];
        yield '9111 4.2.2: changed in the future' => [['last-modified' => $date(100)], null];
        yield '9110 15.1: a status without a heuristic' => [['last-modified' => $date(-1000)], null, 302];
        yield '9111 5.2.2.9: public allows it' => [['last-modified' => $date(-1000), 'cache-control' => 'public'], 100, 302];
        yield 'nothing said' => [['content-type' => 'text/html'], null];
        yield 'nothing said, the owner does' => [[], 300, 200, 300];
        yield 'a word of the application counts more' => [['cache-control' => 'max-age=60'], 60, 200, 300];
        yield '9111 3: a cookie is set' => [['cache-control' => 'max-age=60', 'set-cookie' => 'a=b'], null];
        yield 'cookies are removed' => [['cache-control' => 'max-age=60', 'clear-site-data' => '"cookies"'], null];
        yield '9111 4.1: Vary: *' => [['cache-control' => 'max-age=60', 'vary' => 'accept, *'], null];
        foreach (['X Foo', 'X-Foo;X-Bar', 'accept, "x-foo"', 'X-Foo/X-Bar'] as $vary) {
            yield "9110 12.5.5: Vary: $vary" => [['cache-control' => 'max-age=60', 'vary' => $vary], null];
        }
        yield '9110 5.6.1.2: empty members of Vary' => [['cache-control' => 'max-age=60', 'vary' => ', accept,'], 60];
        foreach (['max-age=60 private', 'public private, max-age=60', "max-age=60\tno-store", 'max-age=60 s', 'public max-age=60', 'max-age=60, x="y', 'max-age=60, =', 'max-age=60, x=y=z', 'max-age=60; public'] as $control) {
            yield "9111 5.2: $control" => [['cache-control' => $control], null];
        }
        yield '9110 5.6.1.2: empty members of Cache-Control' => [['cache-control' => ', max-age=60,, public ,'], 60];
        yield '9111 5.2: values in quotes, and words that nobody knows' => [['cache-control' => 'x="a, \\" b", max-age=60 , y=1.5'], 60];
        yield '9213 2.2: a malformed Cache-Control is not asked beside a targeted field' => [['cdn-cache-control' => 'max-age=5', 'cache-control' => 'max-age=60 private'], 5];
        yield 'a stream of events' => [['cache-control' => 'max-age=60', 'content-type' => 'Text/Event-Stream; charset=utf-8'], null];
        yield 'a stream of pictures' => [['cache-control' => 'max-age=60', 'content-type' => 'multipart/x-mixed-replace;boundary=x'], null];
        yield 'a download' => [['cache-control' => 'max-age=60', 'content-disposition' => 'Attachment; filename=invoice.pdf'], null];
        yield '6266 4.2: what is shown is no download' => [['cache-control' => 'max-age=60', 'content-disposition' => 'inline; filename=attachment'], 60];
        yield '9110 14.4: a part with the status of a whole' => [['cache-control' => 'max-age=60', 'content-range' => 'bytes 0-9/100'], null];
        yield '9110 14.4: a Content-Range that means nothing' => [['cache-control' => 'max-age=60', 'content-range' => 'x'], 60];
        yield '9111 3.3: a part' => [['cache-control' => 'max-age=60', 'content-range' => 'bytes 0-1/2'], null, 206];
        yield '9111 4.3.3: a validation' => [['cache-control' => 'max-age=60'], null, 304];
        yield '9110 15.6: an error that says its life' => [['cache-control' => 'max-age=7'], 7, 503];
        yield 'an error is kept for ten seconds at the most' => [['cache-control' => 'max-age=60'], 10, 500];
        yield 'an error that says nothing' => [[], null, 500, 300];
        yield '9110 15.6: an error that says nothing' => [[], null, 503, 300];
        yield '9213 2.2: a targeted field instead' => [['cdn-cache-control' => 'max-age=5', 'cache-control' => 'no-store', 'expires' => '0'], 5];
        yield '9213 2.2: our own before it' => [['larder-cache-control' => 'max-age=7', 'cdn-cache-control' => 'max-age=5'], 7];
        yield '9213 2.2: an empty one says nothing' => [['cdn-cache-control' => '', 'cache-control' => 'max-age=60'], 60];
        yield '9213 2.1: a malformed one says nothing' => [['cdn-cache-control' => 'max-age=5,', 'cache-control' => 'max-age=60'], 60];
        foreach (['max-age="10000"', 'max-age=10000.0', 'max-age=x', 'max-age', 'max-age=(1 2)', 's-maxage="1"', 'max-age=60, stale-if-error="5"'] as $control) {
            yield "9213 2.1: $control is no number of seconds, so the field says nothing" => [['cdn-cache-control' => $control, 'cache-control' => 'no-store'], null];
            yield "9213 2.1: $control leaves it to the other fields" => [['larder-cache-control' => $control, 'cdn-cache-control' => 'max-age=9'], 9];
            yield "9213 2.1: $control beside private" => [['cdn-cache-control' => "private, $control", 'cache-control' => 'max-age=60'], null];
        }
        yield '3875 6.3.3: another status in a field of CGI' => [['cache-control' => 'max-age=60', 'status' => '404 Not Found'], null];
        yield '3875 6.3.3: the same status' => [['cache-control' => 'max-age=60', 'status' => '200 OK'], 60];
        yield '9213 2.1: Expires is not asked beside it' => [['cdn-cache-control' => 'public', 'expires' => $date(100)], null];
    }

    public function testAnAgeCounts(): void
    {
        self::assertSame(7, Policy::of(200, ['cache-control' => ['max-age=60'], 'age' => ['7']], self::NOW, null)->age);
        // RFC 9111, section 5.1: the first member counts, and is ignored if it is no number.
        foreach ([['7, 9'], ['7', '9'], ['7 ,x'], ['007']] as $lines) {
            self::assertSame(7, Policy::of(200, ['cache-control' => ['max-age=60'], 'age' => $lines], self::NOW, null)->age, \implode(', ', $lines));
        }
        foreach ([['0', '70'], ['x'], ['-1'], ['70.0'], ['0;a=b'], [''], ['x, 70']] as $lines) {
            self::assertSame([0, ''], [($policy = Policy::of(200, ['cache-control' => ['max-age=60'], 'age' => $lines], self::NOW, null))->age, $policy->reason], \implode(', ', $lines));
        }
        foreach ([['60'], ['70, 0'], ['70', '0'], ['2147483648'], ['99999999999999999999']] as $lines) {
            self::assertNotSame('', Policy::of(200, ['cache-control' => ['max-age=60'], 'age' => $lines], self::NOW, null)->reason, \implode(', ', $lines));
        }
    }

    public function testWhatMayBeServedStale(): void
    {
        $of = static fn(string $control): Policy => Policy::of(200, ['cache-control' => [$control]], self::NOW, null);
        self::assertSame([30, 300], [$of('max-age=60, stale-while-revalidate=30, stale-if-error=300')->stale, $of('max-age=60, stale-if-error=300')->broken]);
        foreach (['must-revalidate', 'proxy-revalidate', 's-maxage=60'] as $strict) {
            $policy = $of("max-age=60, stale-while-revalidate=30, stale-if-error=300, $strict");
            self::assertSame([0, 0, true], [$policy->stale, $policy->broken, $policy->strict], $strict);
        }
    }
}
