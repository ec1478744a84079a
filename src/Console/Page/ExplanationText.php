<?php

declare(strict_types=1);

namespace Larder\Console\Page;

use Larder\Console\Support\Text;
use Larder\Page\Explanation;
use Larder\Page\PageOutcome;

/**
 * An Explanation in words.
 *
 * @phpstan-import-type Page from \Larder\Page\Serve
 */
final readonly class ExplanationText
{
    private ?Rule $rule;

    /**
     * @param list<string>                                               $tags      of the stored page
     * @param array{file: ?string, reason: ?string, copy: ?bool} $elsewhere see Pages::elsewhere()
     */
    public function __construct(private Explanation $explanation, private array $tags, private array $elsewhere = ['file' => null, 'reason' => null, 'copy' => null])
    {
        $this->rule = Rule::of($explanation->detail);
    }

    public function isServed(): bool
    {
        return $this->explanation->outcome === PageOutcome::Hit || $this->explanation->outcome === PageOutcome::Stale;
    }

    /** @return array<string, mixed> */
    public function document(): array
    {
        $page = $this->explanation->stored['page'] ?? null;

        return [
            'url' => $this->explanation->url,
            'outcome' => $this->explanation->outcome->value,
            'served' => $this->isServed(),
            'answer' => $this->answer(),
            'because' => $this->because(),
            'reason' => $this->explanation->detail,
            'rule' => $this->rule?->rule,
            'advice' => $this->advice(),
            'key' => $this->explanation->key,
            'page' => $page === null ? null : [
                'status' => $page['status'], 'made' => $page['made'], 'age' => $this->explanation->age, 'life' => $page['life'],
                'expired' => $this->explanation->stored['isExpired'] ?? false,
                'stale_while_revalidate' => $page['stale'], 'stale_if_error' => $page['broken'],
                'forms' => $page['forms'], 'etag' => $page['etag'], 'tags' => $this->tags,
                'depends_on' => Dependencies::words($this->explanation->stored['name'] ?? ''),
                'file' => $this->elsewhere['file'], 'no_file' => $this->elsewhere['reason'], 'copy' => $this->elsewhere['copy'],
            ],
        ];
    }

    /** @return list<array{string, string}> a word, and what is to say about it */
    public function lines(): array
    {
        $page = $this->explanation->stored['page'] ?? null;
        $lines = [['answer', $this->answer()], ['because', $this->because()]];
        if ($this->rule !== null) {
            $lines[] = ['rule', $this->rule->rule];
        }
        if ($this->advice() !== '') {
            $lines[] = ['advice', $this->advice()];
        }
        if ($this->explanation->key !== null) {
            $lines[] = ['key', \implode('; ', [Dependencies::url($this->explanation->key), ...Dependencies::words($this->explanation->key)])];
        }
        if ($page !== null) {
            $lines = [...$lines, ...$this->stored($page)];
        }

        return $lines;
    }

    private function answer(): string
    {
        return match ($this->explanation->outcome) {
            PageOutcome::Hit => 'from the store; the application does not run',
            PageOutcome::Stale => 'from the store, although the page is stale; one request renews it meanwhile',
            PageOutcome::Refused => 'status 504; the application does not run',
            PageOutcome::Built => 'from the application; its page is then stored, if it may be',
            PageOutcome::Waits => 'from the store, as soon as another request has built the page; this one waits for it',
            PageOutcome::Busy => 'status 503: another request is building the page, and a prefetch does not wait',
            PageOutcome::Marked => 'from the application, at once: last time its page could not be stored',
            PageOutcome::Passed => 'from the application; its page is not stored',
        };
    }

    private function because(): string
    {
        $page = $this->explanation->stored['page'] ?? null;
        $age = Text::seconds($this->explanation->age);
        $life = $page === null ? '' : Text::seconds($page['life']);

        return match ($this->explanation->outcome) {
            PageOutcome::Hit => $page !== null && $this->explanation->age >= $page['life']
                ? "the request takes a page that is $age old, although its life of $life is over (RFC 9111, section 5.2.1.2: max-stale)"
                : "the page is $age old, and fresh for $life (RFC 9111, section 4.2)",
            PageOutcome::Stale => $this->wasExpired()
                ? 'the page was expired by a purge, and it may be served until it is renewed (RFC 5861, section 3)'
                : "the page is $age old, its life of $life is over, and it may be served stale while one request renews it (RFC 5861, section 3)",
            PageOutcome::Refused => 'the request says only-if-cached (RFC 9111, section 5.2.1.7), and ' . $this->missing(),
            PageOutcome::Marked => 'last time: ' . $this->explanation->detail,
            PageOutcome::Passed => $this->reason(),
            default => $this->missing(),
        };
    }

    /** Why no stored page answers. */
    private function missing(): string
    {
        return match ($this->explanation->forward) {
            'uri-miss' => 'nothing is stored under its key' . ($this->explanation->outcome === PageOutcome::Built && $this->explanation->detail !== '' ? '; last time: ' . $this->explanation->detail : ''),
            'vary-miss' => 'other variants of the page are stored, and none for this request\'s fields (RFC 9111, section 4.1)',
            'stale' => $this->wasExpired() ? 'the page was expired by a purge, and it may not be served stale'
                : 'the stored page\'s life is over (RFC 9111, section 4.2), and it may not be served stale',
            'request' => 'the request\'s Cache-Control or Pragma does not take the stored page (RFC 9111, section 5.2.1)',
            default => $this->reason(),
        };
    }

    private function reason(): string
    {
        return match (true) {
            $this->explanation->forward === 'method' => 'only GET and HEAD are answered from the store (RFC 9111, section 4)',
            $this->explanation->detail === '' => 'a HEAD has no page to store, and ' . $this->missing(),
            default => $this->explanation->detail,
        };
    }

    private function advice(): string
    {
        return match (true) {
            $this->rule !== null => $this->rule->advice,
            $this->explanation->outcome === PageOutcome::Built && $this->explanation->stored === null => 'Ask for the page. If it can be stored, the next visitor gets it from the store; if it cannot, ask page:why again: it then says why.',
            default => '',
        };
    }

    private function wasExpired(): bool
    {
        $stored = $this->explanation->stored;

        return $stored !== null && $stored['isExpired'] && $this->explanation->age < $stored['page']['life'];
    }

    /**
     * @param Page $page
     *
     * @return list<array{string, string}>
     */
    private function stored(array $page): array
    {
        $forms = [];
        foreach ($page['forms'] as $coding => $bytes) {
            $forms[] = ($coding === '' ? '' : "$coding ") . Text::bytes($bytes);
        }
        $born = $page['made'] - $page['age'];
        $end = $born + $page['life'];
        $left = $end - \time();
        $depends = Dependencies::words($this->explanation->stored['name'] ?? '');

        return [
            ['page', "status $page[status]; " . \implode(', ', $forms)],
            ['made', \date('Y-m-d H:i:s', $born) . ', ' . Text::seconds($this->explanation->age) . ' ago'],
            ['fresh', $this->wasExpired() ? 'no: a purge has expired it' : ($left > 0 ? 'until ' . \date('Y-m-d H:i:s', $end) . ', ' . Text::seconds($left) . ' more' : 'no, since ' . \date('Y-m-d H:i:s', $end))],
            ['then', $page['stale'] > 0 || $page['broken'] > 0
                ? 'stale for ' . Text::seconds($page['stale']) . ' while one request renews it, for ' . Text::seconds($page['broken']) . ' if the application fails'
                : 'never served stale'],
            ['tags', $this->tags === [] ? 'none' : \implode(' ', $this->tags)],
            ['depends on', \implode('; ', ['the URL', ...$depends])],
            ...$this->elsewhere(),
        ];
    }

    /** @return list<array{string, string}> */
    private function elsewhere(): array
    {
        ['file' => $file, 'reason' => $reason, 'copy' => $copy] = $this->elsewhere;
        $lines = $copy === null ? [] : [['copy', $copy ? 'larder-serve.php answers, before the autoloader' : 'none that larder-serve.php could answer from: the next request has one made']];

        return match (true) {
            $file !== null => [...$lines, ['file', "the web server sends it without PHP, to visitors whose fields and cookies do not matter: $file"]],
            $reason !== null => [...$lines, ['file', "none that the web server could send: $reason"]],
            default => $lines,
        };
    }
}
