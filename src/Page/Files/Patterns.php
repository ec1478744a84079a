<?php

declare(strict_types=1);

namespace Larder\Page\Files;

use Larder\Page\RequestKey;

/** The rules of the page cache for a request, as regular expressions (PCRE) for a web server's configuration. */
final readonly class Patterns
{
    /**
     * Fields by which known proxies name some visitors of a site that others see without a name; of each one that always comes.
     * A web server asks for fields by their names, and cannot look for RequestKey::IDENTIFIES in them; each name takes it time.
     */
    public const VISITORS = [
        // Authelia, oauth2-proxy, Grafana's proxies, authentik, Kong, Cloudflare, Amazon, Microsoft, SiteMinder
        'HTTP_REMOTE_USER', 'HTTP_X_FORWARDED_USER', 'HTTP_X_AUTH_REQUEST_USER', 'HTTP_X_WEBAUTH_USER', 'HTTP_X_AUTHENTIK_USERNAME', 'HTTP_X_CONSUMER_ID', 'HTTP_CF_ACCESS_JWT_ASSERTION',
        'HTTP_X_AMZN_OIDC_IDENTITY', 'HTTP_X_MS_CLIENT_PRINCIPAL', 'HTTP_SM_USER',
        // Programs that call an application, and certificates (RFC 9440; nginx and HAProxy, Envoy, Traefik)
        'HTTP_X_API_KEY', 'HTTP_X_AUTH_TOKEN', 'HTTP_CLIENT_CERT', 'HTTP_X_SSL_CLIENT_CERT', 'HTTP_X_FORWARDED_CLIENT_CERT', 'HTTP_X_FORWARDED_TLS_CLIENT_CERT',
    ];

    /** The target of a request that a file may answer; its first group and its second are Address::PATH's. */
    public string $target;

    /** The value of the field Cookie, with which a file may answer: nothing in it is a visitor's own. */
    public string $cookies;

    /** Only the ignored parameters, with the question mark; or nothing. */
    public string $query;

    /** @var list<string> fields of a request, in small letters, with any of which no file answers it */
    public array $fields;

    /**
     * @param list<string> $ignoredCookies names; a * at the end stands for anything
     * @param list<string> $ignoredQuery   as well
     * @param list<string> $variables      of a request, by their CGI names: no file answers one that has any of them
     * @param string       $accept         the value of the field Accept, with which a file may answer
     */
    public function __construct(array $ignoredCookies, array $ignoredQuery, array $variables, public string $accept = '')
    {
        $parameter = self::any($ignoredQuery, '=&# ') . '(?:=[^&# ]*+)?(?=[& ]|$)';
        $this->query = $ignoredQuery === [] ? '' : "(?:\\?$parameter(?:&$parameter)*+)?";
        $this->target = Address::PATH . $this->query;
        // Most requests have no cookie, and end at the first bar. Each part has one way to match, so that no cookie takes long:
        // "*+" never gives anything back. A comma may stand where Apache has joined two fields.
        $cookie = '\s*+(?:' . self::any($ignoredCookies, '=;,') . '(?:=[^;,]*+|\s*+)(?=;|$))?';
        $this->cookies = $ignoredCookies === [] ? '^$' : "^(?:|$cookie(?:;$cookie)*+)$";
        $fields = \array_filter($variables, static fn(string $name): bool => \str_starts_with($name, 'HTTP_'));
        $this->fields = \array_map(static fn(string $name): string => \strtolower(\substr($name, 5)), \array_values($fields));
    }

    /**
     * @param list<string> $names
     * @param string       $ends  the characters with which a name ends
     */
    private static function any(array $names, string $ends): string
    {
        // A name of other characters is not ignored here: the page cache answers its requests.
        $names = \array_filter($names, static fn(string $name): bool => \preg_match('/^[\w.-]+(?:\*[\w.-]*)?$/D', $name) === 1);

        return '(?:' . \implode('|', \array_map(static function (string $name) use ($ends): string {
            $parts = \explode('*', $name, 2);
            [$first, $last] = [$parts[0], $parts[1] ?? null];

            // As RequestKey::matches() has it, so that there is one way to match.
            return \str_replace('.', '[.]', $first) . ($last === null ? '' : "[^$ends" . \addcslashes($last[0] ?? '', '-') . ']*+' . \str_replace('.', '[.]', $last));
        }, $names)) . ')';
    }
}
