<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Config\InvalidConfiguration;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\TestWith;
use Psr\Http\Message\ServerRequestInterface;

/** One visitor's page, given to another. */
#[CoversNothing]
final class PrivatePagesTest extends AttackCase
{
    /** Symfony's HttpCache stored and replayed session cookies (CVE-2022-24894), Rack::Cache before it (CVE-2012-2671). */
    public function testASetCookieIsNeverReplayed(): void
    {
        $this->prints('page', ['Set-Cookie' => 'session=1; HttpOnly', 'Cache-Control' => 'public, s-maxage=600']);
        $this->assertNeverStored(self::request(), 'Set-Cookie');
    }

    /** Rails' Active Storage sent a session cookie with a file that proxies were told to keep (CVE-2024-26144). */
    public function testASetCookieBesideImmutableIsNotReplayed(): void
    {
        $this->prints('file', ['Set-Cookie' => '_app_session=1', 'Cache-Control' => 'max-age=31536000, public, immutable', 'Content-Type' => 'image/png']);
        $this->assertNeverStored(self::request('/file.png'), 'Set-Cookie');
    }

    /** Flask refreshed a session's cookie without Vary: Cookie (CVE-2023-30861), Django too (CVE-2026-35192). */
    public function testARefreshedSessionCookieWithoutVaryIsNotReplayed(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => new Response(200, self::PAGE + ($request->hasHeader('Cookie') ? ['Set-Cookie' => 'session=again'] : []), 'page'));
        $this->assertNeverStored(self::request('/', ['Cookie' => 'session=1']));
        $this->assertUnharmed(self::request(), self::request('/', ['Cookie' => 'session=1']));
    }

    /** A 304 with a cookie refreshed the stored page, and the cookie went into it. */
    public function testASetCookieOfA304IsNotReplayed(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->hasHeader('If-None-Match')
            ? new Response(304, ['ETag' => '"1"', 'Cache-Control' => 'max-age=60', 'Set-Cookie' => 'session=1'])
            : new Response(200, ['ETag' => '"1"', 'Cache-Control' => 'max-age=0'], 'page'));
        $this->get();
        self::assertSame('session=1', $this->get()->getHeaderLine('Set-Cookie'), 'It is this visitor\'s.');
        $this->runs(static fn(): Response => new Response(200, [], 'of nobody'));
        self::assertFalse($this->get()->hasHeader('Set-Cookie'));
    }

    /** In 2015 Steam's caches gave its users each other's account pages, after a change to rules of what is cached. */
    #[TestWith(['private'])]
    #[TestWith(['no-store'])]
    #[TestWith(['private, max-age=600'])]
    #[TestWith(['max-age=600, Private'])]
    #[TestWith(['s-maxage=600, PRIVATE="Set-Cookie"'])]
    #[TestWith(['public, private'])]
    public function testAPageThatSaysSoIsPrivate(string $control): void
    {
        $this->prints('account', ['Cache-Control' => $control]);
        $this->assertNeverStored(self::request('/account'));
    }

    /** Directives parted by semicolons, a frequent mistake: a parser that wants commas sees max-age alone. */
    #[TestWith(['max-age=600; private'])]
    #[TestWith(['public; no-store'])]
    #[TestWith(['max-age=600;private'])]
    #[TestWith(["max-age=600,\tprivate"])]
    public function testDirectivesPartedByOtherThanCommas(string $control): void
    {
        $this->prints('account', ['Cache-Control' => $control]);
        $this->assertNeverStored(self::request('/account'));
    }

    /** Two Cache-Control lines, of which a cache read the first. */
    public function testPrivateInASecondLine(): void
    {
        $this->prints('account', ['Cache-Control' => ['max-age=600', 'private']]);
        $this->assertNeverStored(self::request('/account'), 'private');
    }

    /** A broken quoted string hid what came after it. */
    public function testPrivateBehindABrokenQuote(): void
    {
        $this->prints('account', ['Cache-Control' => 'max-age=600, x="y, private']);
        $this->assertNeverStored(self::request('/account'), 'private');
    }

    /** An application of the days of HTTP/1.0 says Pragma: no-cache, and the owner's default life made it public. */
    public function testPragmaWhereTheOwnerGivesALife(): void
    {
        $this->options = ['ttl' => 600];
        $this->runs(static fn(): Response => new Response(200, ['Pragma' => 'no-cache'], 'account'));
        $this->assertNeverStored(self::request('/account'));
    }

    /** Expires: 0 and -1 are no dates, and a cache took them for nothing said. */
    #[TestWith(['0'])]
    #[TestWith(['-1'])]
    #[TestWith(['Thu, 19 Nov 1981 08:52:00 GMT'])]
    public function testExpiresInThePastWhereTheOwnerGivesALife(string $expires): void
    {
        $this->options = ['ttl' => 600];
        $this->runs(static fn(): Response => new Response(200, ['Expires' => $expires], 'account'));
        $this->assertNeverStored(self::request('/account'));
    }

    /** Django's middleware let private pages be cached for some browsers, which ignored Vary: Cookie (CVE-2014-1418). */
    public function testVaryCookieIsKept(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page of ' . $request->getHeaderLine('Cookie'), ['Vary' => 'Cookie']);
        $this->assertUnharmed(self::request(), self::request('/', ['Cookie' => 'session=1']));
    }

    /** The session, login and cart cookies of what PHP sites are made with; none of them is known to the cache. */
    #[TestWith(['PHPSESSID=0123456789abcdef'])]
    #[TestWith(['wordpress_logged_in_abcdef=admin%7C1'])]
    #[TestWith(['wp-postpass_abcdef=x'])]
    #[TestWith(['comment_author_abcdef=Ann'])]
    #[TestWith(['woocommerce_items_in_cart=1'])]
    #[TestWith(['wp_woocommerce_session_abcdef=x'])]
    #[TestWith(['laravel_session=x'])]
    #[TestWith(['XSRF-TOKEN=x'])]
    #[TestWith(['SESSabcdef=x'])]
    #[TestWith(['fe_typo_user=x'])]
    #[TestWith(['frontend=x'])]
    #[TestWith(['X-Magento-Vary=x'])]
    #[TestWith(['sf_redirect=x'])]
    #[TestWith(['joomla_user_state=logged_in'])]
    #[TestWith(['remember_web_abcdef=x'])]
    public function testACookieThatNobodyKnows(string $cookie): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page of ' . $request->getHeaderLine('Cookie'));
        $this->get();
        $this->assertNeverStored(self::request('/', ['Cookie' => $cookie]), 'cookie');
        $this->assertNeverStored(self::request('/', ['Cookie' => "_ga=1; $cookie; _gid=2"]), 'cookie');
    }

    /** A session's cookie hidden behind a known one: by quotes, white space, or the lack of a name. */
    #[TestWith(['_ga="1; PHPSESSID=x"'])]
    #[TestWith(["_ga=1;\tPHPSESSID=x"])]
    #[TestWith(['_ga=1;PHPSESSID=x'])]
    #[TestWith(['_ga=1;;; PHPSESSID=x'])]
    #[TestWith(['=PHPSESSID=x'])]
    #[TestWith(['PHPSESSID'])]
    #[TestWith(['_ga ; PHPSESSID =x'])]
    #[TestWith(['_ga%20=1'])]
    #[TestWith(['_GA=1'])]
    public function testACookieHiddenBehindAnother(string $cookies): void
    {
        $this->get();
        $this->assertNeverStored(self::request('/', ['Cookie' => $cookies]), 'cookie');
    }

    /** PHP made another cookie of a name with odd characters, and so forged __Host- cookies (CVE-2020-7070, CVE-2022-31629). */
    #[TestWith(['__%48ost-session=x'])]
    #[TestWith(['..Host-session=x'])]
    #[TestWith(['_[Host-session=x'])]
    public function testACookieWhoseNamePhpChanges(string $cookie): void
    {
        $this->get();
        $this->assertNeverStored(self::request('/', ['Cookie' => $cookie]), 'cookie');
    }

    /** A consent plugin prints no banner for who has agreed; his page was stored and then nobody was asked. */
    public function testTheApplicationDoesNotSeeAnIgnoredCookie(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => ($request->getCookieParams()['CookieConsent'] ?? 'ask') . $request->getHeaderLine('Cookie'));
        $agreed = self::request('/', ['Cookie' => 'CookieConsent=yes'])->withCookieParams(['CookieConsent' => 'yes']);
        $this->assertUnharmed(self::request(), $agreed);
    }

    /** Two cookies of one name: PHP takes the first, so their order is not to be lost. */
    public function testTwoCookiesOfOneNameInBothOrders(): void
    {
        $this->options = ['varyCookies' => ['currency']];
        $this->prints(static fn(ServerRequestInterface $request): string => 'prices in ' . \substr($request->getHeaderLine('Cookie'), 9, 3));
        $this->assertUnharmed(self::request('/', ['Cookie' => 'currency=EUR; currency=USD']), self::request('/', ['Cookie' => 'currency=USD; currency=EUR']));
    }

    /** The superuser's page went to who had the same roles (CVE-2013-4226): a cookie's value is a part of the key whole. */
    public function testTwoValuesOfACookieThatPagesVaryBy(): void
    {
        $this->options = ['varyCookies' => ['role']];
        $this->prints(static fn(ServerRequestInterface $request): string => 'page of ' . $request->getHeaderLine('Cookie'));
        $this->assertUnharmed(self::request('/', ['Cookie' => 'role=editor']), self::request('/', ['Cookie' => 'role=editor+admin']), self::request('/', ['Cookie' => 'role=']), self::request());
    }

    /** A visitor who has identified himself in HTTP's own way, gets nothing from the store. */
    #[TestWith(['Basic YWRtaW46YWRtaW4='])]
    #[TestWith(['Bearer x'])]
    #[TestWith(['Digest username="admin"'])]
    #[TestWith(['Nonsense'])]
    public function testAVisitorWhoHasIdentifiedHimself(string $value): void
    {
        $this->get();
        $this->assertNeverStored(self::request('/', ['Authorization' => $value]), 'identified');
    }

    /** In the ways of applications and of proxies before them: what he gets is not stored. */
    #[TestWith(['Proxy-Authorization'])]
    #[TestWith(['X-Api-Key'])]
    #[TestWith(['X-Auth-Token'])]
    #[TestWith(['X-WP-Nonce'])]
    #[TestWith(['X-Remote-User'])]
    #[TestWith(['X-Forwarded-User'])]
    #[TestWith(['X-Forwarded-Access-Token'])]
    #[TestWith(['Cf-Access-Jwt-Assertion'])]
    #[TestWith(['X-Amzn-Oidc-Data'])]
    #[TestWith(['X-Ms-Client-Principal'])]
    #[TestWith(['X-Goog-Iap-Jwt-Assertion'])]
    #[TestWith(['Remote-User'])]
    #[TestWith(['Remote-Email'])]
    #[TestWith(['Remote-Name'])]
    #[TestWith(['Remote-Groups'])]
    #[TestWith(['X-WEBAUTH-USER'])]
    #[TestWith(['X-authentik-username'])]
    #[TestWith(['X-authentik-jwt'])]
    #[TestWith(['Client-Cert'])]
    #[TestWith(['X-SSL-Client-Cert'])]
    #[TestWith(['X-SSL-Client-S-DN'])]
    #[TestWith(['X-SSL-Client-DN'])]
    #[TestWith(['X-SSL-Client-Verify'])]
    #[TestWith(['SSL-Client-Cert'])]
    #[TestWith(['X-Forwarded-Tls-Client-Cert-Info'])]
    #[TestWith(['X-Forwarded-Client-Cert'])]
    #[TestWith(['X-Amzn-Mtls-Clientcert-Subject'])]
    #[TestWith(['X-ARR-ClientCert'])]
    #[TestWith(['X-Consumer-Id'])]
    #[TestWith(['X-Credential-Identifier'])]
    #[TestWith(['X-Vouch-User'])]
    #[TestWith(['X-Pomerium-Claim-Email'])]
    #[TestWith(['Tailscale-User-Login'])]
    #[TestWith(['X-Goog-Authenticated-User-Email'])]
    #[TestWith(['X-Amzn-Oidc-Accesstoken'])]
    #[TestWith(['X-Auth-Request-Email'])]
    #[TestWith(['X-Forwarded-Preferred-Username'])]
    #[TestWith(['Cf-Access-Authenticated-User-Email'])]
    #[TestWith(['SM-USER'])]
    #[TestWith(['iv-creds'])]
    #[TestWith(['OAM-REMOTE-USER'])]
    #[TestWith(['X-User-Id'])]
    #[TestWith(['X-Session-Id'])]
    #[TestWith(['X-CSRFToken'])]
    #[TestWith(['X-Bearer'])]
    #[TestWith(['X-Employee-Id'])]
    #[TestWith(['Eppn'])]
    #[TestWith(['X-Access-Key'])]
    #[TestWith(['X-Cart'])]
    #[TestWith(['DPoP'])]
    #[TestWith(['X-Shib-Uid'])]
    public function testAVisitorWhomAFieldIdentifies(string $name): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page of ' . $request->getHeaderLine($name));
        $this->get('/stored');
        $this->assertNeverStored(self::request('/', [$name => 'admin']), 'identified');
        $this->assertNeverStored(self::request('/stored', [$name => 'admin']), 'identified');
        $this->assertUnharmed(self::request(), self::request('/', [$name => 'admin']));
    }

    /** The same, where the web server has done it: its variables, also after an internal redirect, and certificates. */
    #[TestWith(['REMOTE_USER'])]
    #[TestWith(['REDIRECT_REMOTE_USER'])]
    #[TestWith(['REDIRECT_HTTP_AUTHORIZATION'])]
    #[TestWith(['REDIRECT_REDIRECT_HTTP_AUTHORIZATION'])]
    #[TestWith(['PHP_AUTH_USER'])]
    #[TestWith(['PHP_AUTH_DIGEST'])]
    #[TestWith(['SSL_CLIENT_S_DN'])]
    #[TestWith(['SSL_CLIENT_S_DN_Email'])]
    #[TestWith(['SSL_CLIENT_M_SERIAL'])]
    #[TestWith(['SSL_CLIENT_CERT'])]
    #[TestWith(['SSL_CLIENT_VERIFY'])]
    #[TestWith(['SSL_CLIENT_FINGERPRINT'])]
    #[TestWith(['REDIRECT_SSL_CLIENT_S_DN'])]
    #[TestWith(['REDIRECT_REDIRECT_SSL_CLIENT_S_DN_CN'])]
    #[TestWith(['AUTH_USER'])]
    #[TestWith(['LOGON_USER'])]
    #[TestWith(['OIDC_CLAIM_sub'])]
    #[TestWith(['Shib-Session-ID'])]
    public function testAVisitorWhomTheServerHasIdentified(string $variable): void
    {
        $this->get();
        $this->assertNeverStored(new ServerRequest('GET', 'http://shop.example/', [], null, '1.1', [$variable => 'admin']), 'identified');
    }

    /** What browsers and proxies send with each request, and what a web server says of a visitor who has no certificate. */
    public function testWhatIdentifiesNobody(): void
    {
        $this->get();
        $fields = ['User-Agent' => 'x', 'X-Original-User-Agent' => 'x', 'Sec-Fetch-User' => '?1', 'Sec-CH-UA' => 'x', 'Accept-Language' => 'de', 'If-None-Match' => '"x"', 'X-Request-Id' => 'x', 'Traceparent' => 'x', 'CF-Ray' => 'x', 'X-Amz-Cf-Id' => 'x', 'Via' => 'x', 'X-Real-IP' => '192.0.2.1', 'From' => 'x', 'Remote-User' => '', 'X-AppEngine-User-IP' => '192.0.2.1', 'X-ProxyUser-Ip' => '192.0.2.1'];
        $variables = ['USER' => 'www-data', 'SSL_CLIENT_VERIFY' => 'NONE', 'SSL_CLIENT_CERT' => '', 'DB_USER' => 'x', 'AUTH_KEY' => 'x'];
        self::assertStringContainsString('; hit', $this->ask(new ServerRequest('GET', 'http://shop.example/', $fields, null, '1.1', $variables))->getHeaderLine('Cache-Status'));
    }

    /** Cloudflare sends it with each request, and means the scheme: it is part of the key. */
    public function testAFieldOfTheSchemeWhoseNameHasAVisitorInIt(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'by ' . $request->getHeaderLine('CF-Visitor'));
        foreach (['{"scheme":"https"}', '{"scheme":"http"}'] as $scheme) {
            self::assertSame("by $scheme", (string) $this->get('/', ['CF-Visitor' => $scheme])->getBody());
            self::assertStringContainsString('; hit', $this->get('/', ['CF-Visitor' => $scheme])->getHeaderLine('Cache-Status'));
        }
    }

    /** A field that a CDN sends with each request looks like somebody's: the owner says that no page depends on it, and none can. */
    public function testAFieldThatTheOwnerIgnores(): void
    {
        $this->options = ['ignoredFields' => ['X-Origin-Token', 'x-edge-*', 'Authorization']];
        $this->prints(static fn(ServerRequestInterface $request): string => 'page for ' . $request->getHeaderLine('X-Origin-Token') . $request->getHeaderLine('X-Edge-Url') . $request->getHeaderLine('X-Other'));
        $cdn = ['X-Origin-Token' => 'secret', 'X-Edge-Url' => '/origin', 'X-Edge-User' => 'x', 'X-Other' => 'mine'];
        self::assertStringContainsString('; stored', $this->get('/', $cdn)->getHeaderLine('Cache-Status'));
        self::assertSame('page for mine', (string) $this->get('/', ['X-Origin-Token' => 'another'])->getBody());
        self::assertSame(1, $this->runs);
        $this->assertNeverStored(self::request('/', ['Authorization' => 'Basic x'] + $cdn), 'identified');
        $this->assertNeverStored(self::request('/', ['X-Edg-User' => 'x'] + $cdn), 'identified');
    }

    #[TestWith(['*'])]
    #[TestWith(['X-*-User'])]
    #[TestWith(['X User'])]
    public function testANameThatIsNoFieldsIsRefused(string $name): void
    {
        $this->options = ['ignoredFields' => [$name]];
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage('ignoredFields');
        $this->get();
    }

    /** A name and a password in the URL itself. */
    public function testAVisitorWhoseNameIsInTheUrl(): void
    {
        $this->get();
        $this->assertNeverStored(new ServerRequest('GET', 'http://admin:secret@shop.example/'), 'identified');
    }

    /** Cookies that a middleware before has decrypted or added stand in the request and not in its header. */
    public function testACookieThatIsNotInTheHeader(): void
    {
        $this->get();
        $this->assertNeverStored(self::request('/', ['Cookie' => '_ga=1'])->withCookieParams(['_ga' => '1', 'session' => 'x']), 'cookie');
        $this->assertNeverStored(self::request()->withCookieParams(['session' => 'x']), 'cookie');
    }

    /** Squid gave one client the answer to another's conditional request (CVE-2016-10002). */
    public function testAConditionOfOneVisitorIsNotAnsweredForAnother(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->getHeaderLine('If-None-Match') === '"mine"'
            ? new Response(304, ['ETag' => '"mine"', 'Cache-Control' => 'max-age=60'])
            : new Response(200, ['ETag' => '"1"'] + self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', ['If-None-Match' => '"mine"']));
    }

    /** Squid's collapsed forwarding gave private answers to all who waited (CVE-2016-10003); here nobody gets another's. */
    public function testAPrivateAnswerIsNotSharedAmongThoseWhoAskedTogether(): void
    {
        $number = 0;
        $this->runs(static function () use (&$number): Response {
            return new Response(200, ['Cache-Control' => 'private, max-age=60'], 'page ' . ++$number);
        });
        self::assertSame(['page 1', 'page 2'], [(string) $this->get()->getBody(), (string) $this->get()->getBody()]);
    }

    /** A public page turned private, and the old one was served on; or the private one took its place. */
    public function testAPageThatTurnsPrivateIsForgotten(): void
    {
        $this->prints('public', ['Cache-Control' => 'max-age=0', 'ETag' => '"1"']);
        $this->get();
        $this->prints('of Ann', ['Cache-Control' => 'private', 'ETag' => '"2"']);
        self::assertSame('of Ann', (string) $this->get()->getBody());
        $this->prints('of Bob', ['Cache-Control' => 'private', 'ETag' => '"3"']);
        self::assertSame('of Bob', (string) $this->get()->getBody());
    }
}
