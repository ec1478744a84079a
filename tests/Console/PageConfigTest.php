<?php

declare(strict_types=1);

namespace Larder\Tests\Console;

use Larder\Console\Application;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Tester\ApplicationTester;

final class PageConfigTest extends TestCase
{
    private ApplicationTester $tester;

    protected function setUp(): void
    {
        $larder = new Application();
        $larder->setAutoExit(false);
        $this->tester = new ApplicationTester($larder);
    }

    public function testTheRootIsTheDirectoryOfThePagesUnlessAnotherIsNamed(): void
    {
        self::assertStringContainsString('root /srv/pages;', $this->printed(['--root' => '/srv/pages']));
        $both = $this->printed(['--root' => '/srv/www', '--static' => '/srv/pages']);
        self::assertStringContainsString('root /srv/www;', $both);
        self::assertStringContainsString('root /srv/pages;', $both);
        self::assertStringContainsString('root /srv/noted;', $this->printed(['--root' => '/srv/www', '--options' => '{"static": "/srv/noted"}']));
    }

    public function testTheOwnersListsAreInTheConfiguration(): void
    {
        foreach (['nginx', 'apache'] as $server) {
            $printed = $this->printed(['--root' => '/srv/pages', '--options' => '{"ignoredQuery": ["fbclid"], "ignoredCookies": ["my.cookie", "shop_*"], "staticHeaders": ["X-Frame-Options: DENY", "Link"]}'], $server);
            self::assertStringContainsString('fbclid', $printed);
            self::assertStringContainsString('my[.]cookie|shop_', $printed);
            self::assertStringNotContainsString('_ga', $printed);
            self::assertMatchesRegularExpression('/(?:add_header|Header set) X-Frame-Options "DENY"/', $printed);
            self::assertStringNotContainsString('Link', $printed);
            self::assertMatchesRegularExpression('/cache.control/i', (string) \preg_replace('/^.*(?:add_header|Header set).*$/m', '', $printed));
            self::assertMatchesRegularExpression('/remote.user/i', $printed);
            $ignoring = $this->printed(['--root' => '/srv/pages', '--options' => '{"ignoredFields": ["Remote-User", "X-Forwarded-*", "Authorization"]}'], $server);
            self::assertDoesNotMatchRegularExpression('/http[_:]remote.user|x.forwarded/i', $ignoring);
            self::assertMatchesRegularExpression('/authorization/i', $ignoring);
            $without = $this->printed(['--root' => '/srv/pages', '--options' => '{"clientControl": false}'], $server);
            self::assertDoesNotMatchRegularExpression('/cache.control/i', (string) \preg_replace('/^.*(?:add_header|Header set).*$/m', '', $without));
        }
    }

    /** @return iterable<string, array{array<string, string>}> */
    public static function mistakes(): iterable
    {
        yield 'another server' => [['server' => 'iis', '--root' => '/srv/pages']];
        yield 'no directory' => [['server' => 'nginx']];
        yield 'what is no path in a configuration' => [['server' => 'nginx', '--root' => '/srv/pages; }']];
        yield 'no path for the pages' => [['server' => 'nginx', '--root' => '/srv', '--static' => 'pages']];
        yield 'no time zone' => [['server' => 'apache', '--root' => '/srv/pages', '--timezone' => 'Mars/Crater']];
    }

    /** @param array<string, string> $arguments */
    #[DataProvider('mistakes')]
    public function testAMistakeIsTold(array $arguments): void
    {
        self::assertSame(Application::USAGE, $this->tester->run(['page:config', '--dsn' => 'memory://'] + $arguments, ['capture_stderr_separately' => true]));
        self::assertSame('', $this->tester->getDisplay());
        self::assertNotSame('', $this->tester->getErrorOutput());
    }

    /** @param array<string, string> $options */
    private function printed(array $options, string $server = 'nginx'): string
    {
        $status = $this->tester->run(['page:config', 'server' => $server, '--dsn' => 'memory://'] + $options, ['capture_stderr_separately' => true]);
        self::assertSame(0, $status, $this->tester->getErrorOutput());

        return $this->tester->getDisplay();
    }
}
