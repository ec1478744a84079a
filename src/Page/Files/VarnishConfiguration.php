<?php

declare(strict_types=1);

namespace Larder\Page\Files;

/** A VCL for Varnish 7 before a site with the page cache: it keeps what the page cache has stored, and removes it by tags. */
final class VarnishConfiguration
{
    /**
     * @param string $field  in which pages name their tags
     * @param string $host   of the web server behind it
     * @param int    $life   seconds after which Varnish asks again
     */
    public static function text(Patterns $patterns, string $field, string $host, int $port, int $life): string
    {
        $fields = \implode(' || ', \array_map(static fn(string $field): string => 'req.http.' . \ucwords(\strtr($field, '_', '-'), '-'), $patterns->fields));
        $query = $patterns->query === '' ? '' : <<<VCL

                if (req.url ~ "^[^?]*$patterns->query$") {
                    set req.url = regsub(req.url, "\?.*$", "");
                }
            VCL;

        return <<<VCL
            vcl 4.1;

            # Larder: Varnish keeps what the page cache answers from its store, and nothing else.

            import std;

            backend default {
                .host = "$host";
                .port = "$port";
            }

            # Who may remove pages: the servers on which PHP runs.
            acl larder {
                "127.0.0.1";
                "::1";
            }

            sub vcl_recv {
                if (req.method == "BAN") {
                    if (client.ip !~ larder) {
                        return (synth(403));
                    }
                    if (req.http.$field !~ "^[0-9a-f]{16}([|][0-9a-f]{16})*$") {
                        return (synth(400));
                    }
                    ban("obj.http.$field ~ " + req.http.$field);
                    return (synth(200));
                }
                if (req.method != "GET" && req.method != "HEAD") {
                    return (pass);
                }
                # With these an application may do something else.
                if ($fields) {
                    return (pass);
                }
                # Without a page for this one, an application may give it something else.
                if (req.http.Accept && req.http.Accept !~ "$patterns->accept") {
                    return (pass);
                }
                # Nothing in it is a visitor's own. There may be several lines of it.
                std.collect(req.http.Cookie, "; ");
                if (req.http.Cookie !~ "$patterns->cookies") {
                    return (pass);
                }
                unset req.http.Cookie;$query
                return (hash);
            }

            sub vcl_backend_response {
                set beresp.grace = 0s;
                set beresp.keep = 0s;
                if (!bereq.uncacheable && beresp.http.$field && beresp.http.Cache-Status ~ "^Larder; hit; ttl=[0-9]+$") {
                    set beresp.ttl = std.duration(regsub(beresp.http.Cache-Status, "^.*=", "") + "s", 0s);
                    if (beresp.ttl > {$life}s) {
                        set beresp.ttl = {$life}s;
                    }
                } else {
                    set beresp.uncacheable = true;
                    set beresp.ttl = 120s;
                }
                return (deliver);
            }

            sub vcl_deliver {
                unset resp.http.$field;
                if (obj.hits > 0) {
                    set resp.http.Cache-Status = resp.http.Cache-Status + ", Varnish; hit";
                }
            }

            VCL;
    }
}
