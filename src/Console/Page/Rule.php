<?php

declare(strict_types=1);

namespace Larder\Console\Page;

/** Which rule stands behind a reason that the page cache gives, and what the owner can do about it. */
final readonly class Rule
{
    /** A part of a reason => the rule, and the advice; the first one counts. */
    private const RULES = [
        // What the request says.
        'the visitor has identified himself' => ['RFC 9111, section 3.5: what a visitor who is known gets may be his alone', 'Ask without that field. If it identifies no visitor and no page depends on it, name it in the option ignoredFields.'],
        'the visitor has a cookie' => ['an unknown cookie makes a page private', 'If no page depends on this cookie, name it in the option ignoredCookies; if pages differ by it and all visitors with the same value get the same, in varyCookies.'],
        'may change what the application does' => ['a field that may give the request another method, host or target makes its page private', 'Let the web server or the proxy remove this field; or name it in the option ignoredFields, if no page depends on it.'],
        'is no address' => ['a field that should hold an address, and that the application may print, makes the page private if it holds anything else', 'Let the web server or the proxy set this field anew.'],
        'a page cache before this one' => ['of several page caches in one request the first one stores the page', 'Nothing; or leave one of them out: start(), or the middleware.'],
        'the request has a body' => ['RFC 9110, section 9.3.1: the body of a GET means nothing, but an application may read it', 'Nothing: a request without a body is stored.'],
        'the host is none' => ['RFC 9110, section 7.2', 'Ask for a host by its name or address.'],
        'the target is none' => ['what is no path, or too long, is not looked for', 'Encode what may not stand in a URL, and shorten it.'],
        'the request says no-store' => ['RFC 9111, section 5.2.1.5: the visitor wants nothing stored', 'Nothing; or the option clientControl: false, to ignore what requests say.'],
        'the request asks for a part' => ['RFC 9110, section 14.2: a part that is not stored comes from the application', 'Nothing: the first request for the whole page stores it.'],
        // What the response says.
        'Set-Cookie' => ['Larder replays no Set-Cookie: it may be one visitor\'s identity', 'Set a cookie only where it is needed (a login, a form), not on each page. PHP\'s session_start() sets one.'],
        'it says nothing about its life' => ['RFC 9111, section 3: without a time, and without a Last-Modified, it is not known how long it stays right', 'Let the application send Cache-Control: max-age=600, or give such pages a life by the option ttl.'],
        'it is stale from the start' => ['RFC 9111, sections 3 and 4.2: its life is over when it is made, and without ETag or Last-Modified it cannot be confirmed', 'Let the application send a longer life (Cache-Control: max-age=600), or an ETag.'],
        'Vary: *' => ['RFC 9111, section 4.1: only the application knows what it depends on', 'Let the application name the fields that the page depends on.'],
        'Vary is malformed' => ['RFC 9110, section 12.5.5: it is a list of names, and what this one means is not known', 'Let the application part the names by commas: Vary: Accept-Language, X-Country.'],
        'Cache-Control is malformed' => ['RFC 9111, section 5.2: it is a list of directives, and what this one means is not known', 'Let the application part the directives by commas: Cache-Control: public, max-age=600.'],
        'its type is that of a stream' => ['a stream is passed on as it comes', 'Nothing: what has an end has another type.'],
        'it is a download' => ['what one visitor is to keep is often made for him', 'Let the web server send files that are the same for all, or leave Content-Disposition: attachment out.'],
        'Content-Range' => ['RFC 9110, section 14.4: it is a part, whatever its status', 'Let the application send a part with the status 206, or no Content-Range.'],
        'must-understand' => ['RFC 9111, section 5.2.2.3', 'Let the application send must-understand only with a status that caches know.'],
        'it is empty' => ['an empty page is mostly an application that has failed', 'PHP\'s error log may say why.'],
        'an error does not replace a page' => ['the stored page is kept for RFC 5861, section 4', 'Nothing: the next page that is no error is stored.'],
        'is no plain text' => ['filter_input() and getenv() show an application the cookies and parameters that are ignored: with quotes, brackets and the like they may do harm in a stored page', 'Nothing: a visitor without them stores the page, and this one then gets it.'],
        'PHP has too little memory' => ['storing a page takes six times its length', 'Raise memory_limit of PHP, or make the page shorter.'],
        'it is longer than' => ['the option largest', 'Raise the option largest, or let the web server send files of that size.'],
        'it has too many tags' => ['a page that cannot be purged by all its tags is not stored', 'Give the page fewer tags, or shorter ones.'],
        'it takes more than a quarter' => ['the budget of all pages in the cache', 'Make the page shorter, or let the web server send it as a file of its own.'],
        'it was purged while' => ['a page that may be older than a purge is not stored', 'Nothing: the next page is stored. If it is not, the application purges the page while it makes it, or the cache cannot be written: bin/larder doctor says so.'],
        'its Content-Length' => ['RFC 9111, section 3.3: a truncated page is not stored', 'Let the application print what it announces.'],
        'the application changes its header' => ['what is added to the header when it is sent may make the page private', 'Let the application set its header before it ends, and not in header_register_callback().'],
        'the application ended with a fatal error' => ['an error is not stored, whatever its status', 'PHP\'s error log says what it was.'],
        'the application was stopped' => ['RFC 9111, section 3.3: a truncated page is not stored', 'The visitor has left, or the time was over: the next request makes it again.'],
        'the application has ended the output buffer' => ['RFC 9111, section 3.3: whether the page is whole is not known', 'Do not let the application end output buffers that it has not begun (ob_end_flush() in a loop).'],
        'it is a stream' => ['a stream is passed on as it comes', 'Nothing: stream what is large, and return what is to be stored as a string.'],
        'private' => ['RFC 9111, section 5.2.2.7: a shared cache stores no response that says private', 'If every visitor may see this page, let the application send Cache-Control: public, s-maxage=600 (or another time).'],
        'no-store' => ['RFC 9111, section 5.2.2.5: no cache stores a response that says no-store', 'If every visitor may see this page, let the application send Cache-Control: public, s-maxage=600. PHP\'s session_start() sends no-store by itself: do not start a session where none is needed.'],
        'status ' => ['RFC 9111, section 3: it is no whole, final response', 'Nothing: the next whole response is stored.'],
    ];

    private function __construct(public string $rule, public string $advice) {}

    /** @param string $reason of an Explanation, or in Cache-Status */
    public static function of(string $reason): ?self
    {
        foreach (self::RULES as $part => [$rule, $advice]) {
            if (\str_contains($reason, $part)) {
                return new self($rule, $advice);
            }
        }

        return null;
    }
}
