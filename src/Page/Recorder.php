<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\System\Memory;

/** Takes what the application prints, up to the end of the script, and concludes the exchange with it. */
final class Recorder
{
    /** Bytes that PHP holds before it gives them to this class; where memory is short they are this part of what is left. */
    private const CHUNK = 1 << 20;
    private const LEAST = 4_096;
    private const PART = 16;

    /** What the application has printed, whether it was sent or is held here. */
    private string $body = '';

    /** Whether something was sent already: then nothing of the header can change. */
    private bool $isSent = false;

    /** Whether all is passed on as it comes: it was concluded, or will not be stored. */
    private bool $isPassing = false;

    /** The fatal error that has ended the script, before the application's own shutdown functions could hide it. */
    private string $failure = '';

    /** @var ?\WeakReference<\Closure> gone when the application has put a function in the place of start()'s */
    private ?\WeakReference $last = null;

    public function __construct(private readonly Exchange $exchange, private readonly Pages $pages, private readonly int $largest) {}

    public function start(): void
    {
        \register_shutdown_function(function (): void {
            $this->failure = Sapi::failure();
            if (!$this->isPassing && \str_starts_with(\error_get_last()['message'] ?? '', 'Allowed memory size')) {
                // PHP throws all buffers away then, and does not ask. Others may wait for this page.
                $this->body = '';
                $this->conclude($this->failure);
            }
        });
        // PHP calls one function just before it sends the header, and holds the only reference to it.
        $nothing = static function (): void {};
        $this->last = \WeakReference::create($nothing);
        \header_register_callback($nothing);
        // PHP takes the memory of a buffer at once, and as much again when it is full.
        \ob_start($this->handle(...), \max(self::LEAST, \min($this->largest, self::CHUNK, \intdiv(Memory::left(), self::PART))));
    }

    private function handle(string $chunk, int $phase): string
    {
        if ($this->isPassing) {
            return $chunk;
        }
        try {
            // After the script's end PHP calls this by itself, else a function of the application has ended the buffer.
            return $this->take($chunk, $phase, \debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 2)[1]['function'] ?? null);
        } catch (\Throwable $failure) {
            // The page cache must not cost the visitor the page.
            $this->pages->report('page', 'the page was not stored: ' . $failure->getMessage());
            $this->isPassing = true;

            return $this->isSent ? $chunk : $this->body;
        }
    }

    private function take(string $chunk, int $phase, ?string $by): string
    {
        $isFinal = ($phase & \PHP_OUTPUT_HANDLER_FINAL) !== 0;
        if (($phase & \PHP_OUTPUT_HANDLER_CLEAN) !== 0) {
            $this->isSent || $this->body = '';
            if ($isFinal) {
                // What the application prints from now on cannot be seen.
                $this->conclude('the application has thrown the output buffer away');
            }

            return '';
        }
        $this->body .= $chunk;
        if (!$isFinal) {
            return $this->part($chunk, ($phase & \PHP_OUTPUT_HANDLER_FLUSH) !== 0);
        }
        $reply = $this->conclude($this->broken($by));
        if ($this->isSent || \headers_sent()) {
            return $this->isSent ? $chunk : $this->body;
        }
        Sapi::setHeader($reply);

        return $reply->body;
    }

    private function conclude(string $broken = '', string $unfit = ''): Reply
    {
        $this->isPassing = true;

        return $this->exchange->conclude(Sapi::response($this->body), PageCache::takeTags(), $broken, $unfit === '' ? $this->unfit() : $unfit);
    }

    /** Once the header was sent, nothing of the header is unknown. */
    private function unfit(): string
    {
        return \headers_sent() || $this->last?->get() !== null ? '' : 'the application changes its header when it is sent (header_register_callback)';
    }

    /**
     * What PHP sends of a part: nothing, while the page may still be stored; but all, once the application sends what it has
     * (flush), or the page is too long, or memory gets short.
     */
    private function part(string $chunk, bool $isFlushed): string
    {
        $head = Sapi::response('');
        $length = \max(\strlen($this->body), (int) ($head->fields()['content-length'][0] ?? 0));
        $unfit = match (true) {
            $length > $this->largest => "it is longer than $this->largest bytes",
            !ResponseEncoder::fitsMemory($length) => ResponseEncoder::NO_MEMORY,
            default => '',
        };
        $isKept = $unfit === '' && $this->exchange->mayStore($head);
        if ($isKept && !$isFlushed && !$this->isSent) {
            return '';
        }
        $sent = $this->isSent ? $chunk : $this->body;
        $isKept || $this->conclude(unfit: $unfit);
        if (!$this->isSent && !\headers_sent()) {
            Sapi::setHeader($this->exchange->pass($head));
        }
        $this->isSent = true;
        $isKept || $this->body = '';

        return $sent;
    }

    /** @param ?string $by the function that has ended the buffer */
    private function broken(?string $by): string
    {
        $response = Sapi::response($this->body);
        $length = $response->fields()['content-length'][0] ?? null;
        $failure = $this->failure === '' ? Sapi::failure() : $this->failure;

        return match (true) {
            $failure !== '' => $failure,
            $length === (string) \strlen($this->body) || $response->status === 304 => '',
            $length !== null => 'its Content-Length is not its length',
            !\in_array($by, [null, 'fastcgi_finish_request', 'litespeed_finish_request'], true) => 'the application has ended the output buffer itself, so what it printed after that is unknown',
            \stripos($this->body, '<html') !== false && \stripos($this->body, '</html') === false => 'it has <html> and no </html>, so it may have been cut off',
            default => '',
        };
    }
}
