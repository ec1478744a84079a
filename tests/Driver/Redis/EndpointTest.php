<?php

declare(strict_types=1);

namespace Larder\Tests\Driver\Redis;

use Larder\Driver\Redis\Endpoint;
use Larder\System\Failure;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

#[CoversClass(Endpoint::class)]
final class EndpointTest extends TestCase
{
    // Seen to fail: each occurrence replaced, so that "a" tore every word apart, and "refused" was told by what was missing.
    #[TestWith(['a', 'ERR a value is bad', 'ERR a value is bad'])]
    #[TestWith(['a', "ERR unknown command 'AUTH' 'a' a", "ERR unknown command 'AUTH' '***' a"])]
    #[TestWith(['pass', 'WRONGPASS invalid username-password pair', 'WRONGPASS invalid username-password pair'])]
    #[TestWith(['password', 'WRONGPASS invalid username-password pair', 'WRONGPASS invalid username-password pair'])]
    #[TestWith(['hunter-2', 'ERR unknown argument hunter-2', 'ERR unknown argument ***'])]
    #[TestWith(['hunter-2', 'ERR unknown argument "hunter-2"', 'ERR unknown argument "***"'])]
    #[TestWith(['a/b$(c)+.', 'ERR said a/b$(c)+. there', 'ERR said *** there'])]
    #[TestWith(['0123456789abcdef', 'ERR x0123456789abcdefx', 'ERR x***x'])]
    public function testAPasswordIsHiddenWhereItIsOne(string $password, string $text, string $shown): void
    {
        self::assertSame($shown, (new Endpoint(password: $password))->withoutPassword($text));
        $endpoint = new Endpoint(credentials: static fn(): string => $password);
        $endpoint->greeting();
        self::assertSame($shown, $endpoint->withoutPassword($text));
    }

    // Seen to fail: three elements, and such with names.
    public function testCredentialsAreAPairOrAPassword(): void
    {
        self::assertSame([['AUTH', 'u', 'p']], (new Endpoint(credentials: static fn(): array => ['u', 'p']))->greeting());
        self::assertSame([['AUTH', 'p']], (new Endpoint(credentials: static fn(): array => [null, 'p']))->greeting());
        self::assertSame([['AUTH', 'p']], (new Endpoint(credentials: static fn(): string => 'p'))->greeting());
        foreach ([['u', 'p', 'x'], ['user' => 'u', 'password' => 'p'], ['p'], [], [1 => 'u', 0 => 'p'], ['u', null], null, 7] as $told) {
            try {
                (new Endpoint(credentials: static fn(): mixed => $told))->greeting();
                self::fail((string) \json_encode($told));
            } catch (Failure $failure) {
                self::assertStringContainsString('must return [user or null, password] or a password, not ', $failure->getMessage());
            }
        }
    }
}
