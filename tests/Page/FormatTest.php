<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Page\FileCopies;
use Larder\Page\Policy;
use Larder\Page\Reply;
use Larder\Page\RequestKey;
use Larder\Page\ResponseEncoder;
use Larder\Page\Serve;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/**
 * After an update, larder-serve.php must not take copies and constants of the version before for its own: they lie under
 * Serve::FORMAT.
 */
#[CoversClass(Serve::class)]
final class FormatTest extends TestCase
{
    /** Of each format the first digits of its sample's hash. Never change a line: raise Serve::FORMAT, and add one. */
    private const SAMPLES = [
        3 => '11efd800254e736e',
        4 => 'e369ec4e89e17020',
        5 => '377efd7456ca2a82',
    ];

    public function testAnotherFormHasAnotherNumber(): void
    {
        self::assertArrayHasKey(Serve::FORMAT, self::SAMPLES, 'Add the new format: ' . self::sample());
        self::assertSame(self::SAMPLES[Serve::FORMAT], self::sample(), 'What lies in copies or constants has another form than Serve::FORMAT has had: raise it.');
    }

    /** Of the bytes of a page's copy and of the list of its variants, and of the names of the constants. */
    private static function sample(): string
    {
        $directory = new TemporaryDirectory();
        $copies = new FileCopies($directory->file('copies'), 1 << 30);
        $response = new Reply(200, ['Content-Type: text/html', 'Cache-Control: max-age=60', 'Larder-Cache-Control: max-age=70', 'Vary: Accept-Language', 'ETag: "1"', 'Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT', 'Date: Fri, 02 Jan 2026 00:00:00 GMT'], 'page');
        $made = ResponseEncoder::page($response, $response->fields(), Policy::of(200, $response->fields(), 1_767_312_000, null), ['utm_source'], 'http://shop.example/', $vary);
        $lock = \fopen('php://memory', 'w+');
        self::assertIsResource($lock);
        $page = ['made' => 1_767_312_000] + $made['page'];
        RequestKey::of(['HTTP_HOST' => 'shop.example', 'REQUEST_URI' => '/', 'SERVER_PORT' => '80', 'SERVER_NAME' => 'shop.example']);
        $ready = Serve::ready($page, 'http://shop.example/', 1, 'entry');
        RequestKey::of(null);
        self::assertNotSame([], $ready);
        // How many codings there are depends on PHP's extensions.
        $ready = [$ready[0]];
        $copies->put($lock, \str_repeat('0', 32), ['counter' => 1, 'key' => 'http://shop.example/', 'id' => 'id', 'page' => $page], $ready, $made['body'], 60);
        $copies->put($lock, \str_repeat('1', 32), ['counter' => 1, 'key' => 'http://shop.example/', 'id' => 'id', 'vary' => $vary], [], '', 60);
        $bytes = '';
        foreach ([0, 1] as $shard) {
            $bytes .= \file_get_contents($directory->file("copies/$shard/" . \str_repeat((string) $shard, 32))) . "\n";
        }
        self::assertStringContainsString('accept-language', $bytes);

        return \substr(\hash('sha256', $bytes . \implode(' ', self::constants())), 0, 16);
    }

    /** @return list<string> the names, as the type in Serve has them */
    private static function constants(): array
    {
        self::assertSame(1, \preg_match('/@phpstan-type Constants array\{(.*)\}\n/', (string) (new \ReflectionClass(Serve::class))->getDocComment(), $type));

        return \explode(', ', $type[1]);
    }
}
