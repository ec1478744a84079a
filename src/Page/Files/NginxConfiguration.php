<?php

declare(strict_types=1);

namespace Larder\Page\Files;

/** What stands inside nginx's `server { }`: files for requests that one may answer, and @php for all others. */
final class NginxConfiguration
{
    /** Files of the document root that nginx sends. A list of what may be sent, so that no program's source is. */
    private const ASSETS = 'avif|css|gif|ico|jpe?g|js|mjs|mp4|otf|png|svg|ttf|webm|webp|woff2?';

    /** What nginx has a module for where one is built in. */
    private const MODULES = ['br' => 'brotli_static on;', 'zstd' => 'zstd_static on;'];

    /**
     * @param string       $root    the document root
     * @param string       $static  the directory of the option `static`
     * @param list<string> $headers "Name: value" that nginx sends with each page
     * @param list<string> $codings "br" and "zstd", where nginx has the modules
     */
    public static function text(Patterns $patterns, string $root, string $static, array $headers, array $codings): string
    {
        $host = Address::HOST;
        $slash = Address::SLASH;
        $fields = \implode('', \array_map(static fn(string $field): string => "\$http_$field", $patterns->fields)) . '$ssl_client_s_dn';
        $lines = \array_map(self::header(...), ['Cache-Control: no-cache', 'Cache-Status: Larder; hit; detail="file"', 'Last-Modified: ', ...$headers]);
        $modules = \array_intersect_key(self::MODULES, \array_flip($codings));
        $more = \implode("\n    ", [...$lines, ...$modules]);
        $assets = $root === $static ? '' : "\n" . \sprintf(<<<'NGINX'
            location ~* "\.(?:%s)$" {
                root %s;
                try_files $uri @php;
            }
            NGINX, self::ASSETS, $root) . "\n";

        return <<<NGINX
            # Larder: pages that lie in $static, and for every other request the location @php,
            # which your own configuration defines. nginx goes on without the directory: then all is for @php.

            # The bucket of time, Unix time without its last digits; and the page: the host as it was sent, this server's port and
            # name, the path. One pattern for all of it, because each takes time. A path has no space, so nothing stands in
            # another's place. The host is sent twice in a request for http://host/path: PHP answers where the two differ.
            set \$larder_long "";
            set \$larder_short "";
            set \$larder_host "";
            set \$larder_path "";
            set \$larder_end "";
            set \$larder_asked "\$msec \$request_method \$host \$http_host \$request_uri";
            if (\$larder_asked ~ "^(?<larder_short>(?<larder_long>[0-9]{7})[0-9]{2})[0-9][.][0-9]+ (?:GET|HEAD) (?<larder_name>$host) (?<larder_host>\\k<larder_name>(?::[0-9]+)?) $patterns->target$") { set \$larder_found yes; }
            if (\$larder_end = "/") { set \$larder_end "$slash"; }
            set \$larder_page "\$scheme/\$larder_host:\$server_port@\$server_name\$larder_path\$larder_end.html";

            # Requests that no file may answer: that want no page, with cookies that a visitor may own, and with fields that an
            # application may listen to.
            set \$larder_fields "$fields";
            if (\$http_accept !~ "$patterns->accept") { set \$larder_page "none"; }
            if (\$http_cookie !~ "$patterns->cookies") { set \$larder_page "none"; }
            if (\$larder_fields != "") { set \$larder_page "none"; }

            location / {
                root $static;
                # A page may go between the look for it and its opening.
                try_files "/\$larder_long/\$larder_page" "/\$larder_short/\$larder_page" @php;
                error_page 404 = @php;
                log_not_found off;
                # With this on, nginx would go on sending what is gone.
                open_file_cache off;
                types { }
                default_type "text/html; charset=utf-8";
                gzip off;
                gzip_static on;
                gzip_vary on;
                gzip_proxied any;
                etag on;
                if_modified_since off;
                # Your own add_header lines above do not count here: repeat them if you want them.
                $more
            }
            $assets
            NGINX;
    }

    private static function header(string $line): string
    {
        [$name, $value] = \explode(': ', $line, 2);

        return \sprintf('add_header %s "%s";', $name, \strtr($value, ['\\' => '\\\\', '"' => '\"']));
    }
}
