<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Page\Url;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class UrlTest extends TestCase
{
    #[DataProvider('references')]
    public function testAReferenceOnAPage(string $reference, ?string $url): void
    {
        self::assertSame($url, Url::resolve($reference, 'http://a/b/c/d;p?q'));
    }

    /** @return iterable<string, array{string, ?string}> the examples of RFC 3986, section 5.4, without their fragments */
    public static function references(): iterable
    {
        $examples = [
            'g:h' => null, 'g' => 'http://a/b/c/g', './g' => 'http://a/b/c/g', 'g/' => 'http://a/b/c/g/', '/g' => 'http://a/g', '//g' => 'http://g/',
            '?y' => 'http://a/b/c/d;p?y', 'g?y' => 'http://a/b/c/g?y', '#s' => 'http://a/b/c/d;p?q', 'g#s' => 'http://a/b/c/g', 'g?y#s' => 'http://a/b/c/g?y',
            ';x' => 'http://a/b/c/;x', 'g;x' => 'http://a/b/c/g;x', 'g;x?y#s' => 'http://a/b/c/g;x?y', '' => 'http://a/b/c/d;p?q',
            '.' => 'http://a/b/c/', './' => 'http://a/b/c/', '..' => 'http://a/b/', '../' => 'http://a/b/', '../g' => 'http://a/b/g',
            '../..' => 'http://a/', '../../' => 'http://a/', '../../g' => 'http://a/g', '../../../g' => 'http://a/g', '../../../../g' => 'http://a/g',
            '/./g' => 'http://a/g', '/../g' => 'http://a/g', 'g.' => 'http://a/b/c/g.', '.g' => 'http://a/b/c/.g', 'g..' => 'http://a/b/c/g..', '..g' => 'http://a/b/c/..g',
            './../g' => 'http://a/b/g', './g/.' => 'http://a/b/c/g/', 'g/./h' => 'http://a/b/c/g/h', 'g/../h' => 'http://a/b/c/h',
            'g;x=1/./y' => 'http://a/b/c/g;x=1/y', 'g;x=1/../y' => 'http://a/b/c/y', 'g?y/./x' => 'http://a/b/c/g?y/./x', 'g?y/../x' => 'http://a/b/c/g?y/../x',
            'g#s/./x' => 'http://a/b/c/g', 'g#s/../x' => 'http://a/b/c/g',
        ];
        foreach ($examples as $reference => $url) {
            yield "5.4: $reference" => [$reference, $url];
        }
    }

    /** RFC 3986, section 6.2, and RFC 9110, section 4.2.3. */
    public function testTheNormalForm(): void
    {
        self::assertSame('http://a/', Url::normal('HTTP://A:80'));
        self::assertSame('https://a/', Url::normal('https://A:0443/#x'));
        self::assertSame('http://a:8080/B?C', Url::normal('http://a:8080/B?C'));
        self::assertSame('http://a/%C3%BC%20', Url::normal(' http://a/%C3%BC%20 '));
        foreach (['', '/a', 'ftp://a/', 'http://user@a/', 'http:///a', 'javascript:alert(1)'] as $none) {
            self::assertNull(Url::normal($none), $none);
        }
    }
}
