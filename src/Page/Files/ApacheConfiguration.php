<?php

declare(strict_types=1);

namespace Larder\Page\Files;

/** What stands inside Apache's `<VirtualHost>`: files for requests that one may answer; all others go on as they did. */
final class ApacheConfiguration
{
    /** The endings of a page's codings, best first, with what Accept-Encoding and Content-Encoding call them. */
    private const CODINGS = ['.br' => 'br', '.zst' => 'zstd', '.gz' => 'gzip'];

    /**
     * @param string       $static  the directory of the option `static`
     * @param list<string> $headers "Name: value" that Apache sends with each page
     * @param string       $zone    that Apache's clock is in, as "Europe/Berlin"
     */
    public static function text(Patterns $patterns, string $static, array $headers, string $zone): string
    {
        $host = Address::HOST;
        $slash = Address::SLASH;
        $fields = \implode('', \array_map(static fn(string $field): string => '%{HTTP:' . \ucwords(\strtr($field, '_', '-'), '-') . '}', $patterns->fields)) . '%{SSL:SSL_CLIENT_S_DN}';
        $page = '%{REQUEST_SCHEME}/%{ENV:LARDER_HOST}%{ENV:LARDER_PATH}%{ENV:LARDER_END}.html';
        $lines = \implode("\n    ", \array_map(self::header(...), ['Cache-Control: no-cache', 'Cache-Status: Larder; hit; detail="file"', ...$headers]));
        $forms = $sent = '';
        foreach (self::CODINGS as $ending => $coding) {
            $forms .= <<<APACHE

                RewriteCond %{ENV:LARDER_FILE} !^$
                RewriteCond %{HTTP:Accept-Encoding} "(?:^|,)\s*$coding\s*(?:;\s*q=(?:1|0?\.\d*[1-9])[^,]*)?(?:,|$)" [NC]
                RewriteCond $static/%{ENV:LARDER_FILE}$ending -f
                RewriteRule ^ $static/%{ENV:LARDER_FILE}$ending [L,E=no-gzip:1,E=no-brotli:1]
                APACHE;
            $sent .= <<<APACHE

                    <FilesMatch "\\$ending$">
                        Header set Content-Encoding $coding
                    </FilesMatch>
                APACHE;
        }

        return <<<APACHE
            # Larder: pages that lie in $static. Every other request goes on as without these lines,
            # and so do all without the directory. Needs mod_rewrite and mod_headers: a2enmod rewrite headers
            RewriteEngine On

            # The bucket of time: the clock without its last digits. PHP compares the clock with its own.
            RewriteCond %{TIME} "^((\d{11})\d\d)"
            RewriteRule ^ - [E=LARDER_CLOCK:%{TIME},E=LARDER_ZONE:$zone,E=LARDER_SHORT:%1,E=LARDER_LONG:%2]

            # The page: its scheme, the host as it was sent, this server's port and name, the path.
            RewriteCond %{HTTP_HOST} "^$host(?::[0-9]+)?$"
            RewriteRule ^ - [E=LARDER_HOST:%{HTTP_HOST}:%{SERVER_PORT}@%{SERVER_NAME}]
            RewriteCond %{THE_REQUEST} "^(?:GET|HEAD) $patterns->target HTTP/"
            RewriteRule ^ - [E=LARDER_PATH:%1,E=LARDER_END:%2]
            RewriteCond %{ENV:LARDER_END} "^/$"
            RewriteRule ^ - [E=LARDER_END:$slash]

            RewriteCond %{REQUEST_URI} "^/(.*)$"
            RewriteRule ^ - [E=LARDER_TARGET:%1]

            # Only for requests that want a page, with no cookies that a visitor may own, and no fields that an application may
            # listen to.
            RewriteCond %{ENV:REDIRECT_STATUS} ^$
            RewriteCond %{HTTP:Accept} "$patterns->accept"
            RewriteCond %{HTTP_COOKIE} "$patterns->cookies"
            RewriteCond "$fields" ^$
            RewriteRule ^ - [E=LARDER_PAGE:$page]
            RewriteCond $static/%{ENV:LARDER_LONG}/%{ENV:LARDER_PAGE} -f
            RewriteRule ^ - [E=LARDER_FILE:%{ENV:LARDER_LONG}/%{ENV:LARDER_PAGE}]
            RewriteCond %{ENV:LARDER_FILE} ^$
            RewriteCond $static/%{ENV:LARDER_SHORT}/%{ENV:LARDER_PAGE} -f
            RewriteRule ^ - [E=LARDER_FILE:%{ENV:LARDER_SHORT}/%{ENV:LARDER_PAGE}]
            $forms
            RewriteCond %{ENV:LARDER_FILE} !^$
            RewriteRule ^ $static/%{ENV:LARDER_FILE} [L,E=no-gzip:1,E=no-brotli:1]

            <Directory "$static">
                Require all granted
                AllowOverride None
                Options None
                # A page may go between the look for it and its opening: then the request begins again, without files.
                ErrorDocument 403 /%{reqenv:LARDER_TARGET}
                ErrorDocument 404 /%{reqenv:LARDER_TARGET}
                # Whatever a name ends in, it is a page and no program.
                SetHandler default-handler
                ForceType "text/html; charset=utf-8"
                FileETag MTime Size
                RequestHeader unset If-Modified-Since
                Header unset Last-Modified
                Header unset Content-Language
                Header merge Vary Accept-Encoding
                $lines
            $sent
            </Directory>

            APACHE;
    }

    private static function header(string $line): string
    {
        [$name, $value] = \explode(': ', $line, 2);

        // In Apache's own format, % begins a variable.
        return \sprintf('Header set %s "%s"', $name, \strtr($value, ['\\' => '\\\\', '"' => '\"', '%' => '%%']));
    }
}
