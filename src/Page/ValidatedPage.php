<?php

declare(strict_types=1);

namespace Larder\Page;

/** The stored page that a 304 of the application has confirmed (RFC 9111, sections 3.2 and 4.3.4). */
final class ValidatedPage
{
    /** What describes the stored bytes is not another response's to change. */
    private const OF_THE_BYTES = ['content-encoding', 'content-length', 'content-range', 'content-md5', 'etag', 'set-cookie', 'cache-status', 'connection', 'transfer-encoding'];

    /**
     * @param array{status: int, headers: list<string>, ours: list<string>, asked: string, forms: array<string, int>, ...} $page
     * @param string                                                                                    $body all its forms
     */
    public static function by(Reply $confirmation, array $page, string $body): Reply
    {
        $new = Reply::without($confirmation->lines, self::OF_THE_BYTES);
        // Without a Date of its own it was made now (RFC 9110, section 6.6.1).
        $changed = \array_map(Reply::name(...), $new);
        $lines = [...Reply::without($page['headers'], ['date', ...\array_map(Reply::name(...), $page['ours']), ...$changed]), ...Reply::without($page['ours'], $changed), ...$new];
        if ($page['asked'] !== '') {
            $lines[] = 'ETag: ' . $page['asked'];
        }
        // A Set-Cookie beside it is for this visitor, so the whole response is.
        foreach ($confirmation->lines as $line) {
            Reply::name($line) === 'set-cookie' && $lines[] = $line;
        }

        return new Reply($page['status'], $lines, \substr($body, 0, $page['forms'][''] ?? 0), $confirmation->beside);
    }
}
