<?php

declare(strict_types=1);

namespace Larder\Page;

/** Takes what the application prints, up to the end of the script, and concludes the exchange with it. */
final class Recorder
{
    private string $body = '';

    /** Whether something was sent already: then nothing of the header can change. */
    private bool $isSent = false;

    /** Whether all is passed on as it comes: it was concluded, or will not be stored. */
    private bool $isPassing = false;

    /** Whether only PHP's own end is left of the script. */
    private bool $isEnd = false;

    public function __construct(private readonly Exchange $exchange, private readonly int $largest) {}

    public function start(): void
    {
        // Twice, so that it comes after the application's own shutdown functions, which print as well.
        \register_shutdown_function(function (): void {
            \register_shutdown_function(function (): void {
                $this->isEnd = true;
            });
        });
        // Where a buffer gets too long, PHP calls the handler: a download of any size passes through.
        \ob_start($this->handle(...), $this->exchange->isRecorded ? $this->largest : 1);
    }

    private function handle(string $chunk, int $phase): string
    {
        if ($this->isPassing) {
            return $chunk;
        }
        try {
            return $this->take($chunk, $phase);
        } catch (\Throwable $failure) {
            // The page cache must not cost the visitor the page.
            \error_log('Larder: the page was not stored: ' . $failure->getMessage());
            $this->isPassing = true;

            return $chunk;
        }
    }

    private function take(string $chunk, int $phase): string
    {
        $isFinal = ($phase & \PHP_OUTPUT_HANDLER_FINAL) !== 0;
        if (($phase & \PHP_OUTPUT_HANDLER_CLEAN) !== 0) {
            if ($isFinal && !$this->isEnd) {
                // The application has thrown the buffer away. What it prints from now on cannot be seen.
                $this->isPassing = true;
                $this->exchange->giveUp();
            }

            return '';
        }
        $this->body .= $chunk;
        if (!$isFinal) {
            return $this->sent($chunk);
        }
        $this->isPassing = true;
        $response = Sapi::response($this->body);
        $broken = $this->broken($response);
        $reply = $this->exchange->conclude($response, PageCache::takeTags(), $broken);
        if ($this->isSent || \headers_sent()) {
            return $chunk;
        }
        Sapi::setHeader($reply);

        return $reply->body;
    }

    /** The application sends what it has, or has more than is stored. */
    private function sent(string $chunk): string
    {
        if (!$this->exchange->isRecorded || \strlen($this->body) > $this->largest) {
            $this->isPassing = true;
            $reply = $this->exchange->conclude(Sapi::response($this->body), PageCache::takeTags());
            if (!$this->isSent && !\headers_sent()) {
                Sapi::setHeader(new Reply($reply->status, $reply->lines));
            }
            $this->body = '';
        }
        $this->isSent = true;

        return $chunk;
    }

    private function broken(Reply $response): string
    {
        $length = $response->fields()['content-length'][0] ?? null;
        if ($length !== null) {
            return $length === (string) \strlen($this->body) || \http_response_code() === 304 ? Sapi::failure() : 'its Content-Length is not its length';
        }
        if (!$this->isEnd && !\in_array(\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 6)[3]['function'] ?? '', ['fastcgi_finish_request', 'litespeed_finish_request'], true)) {
            return 'the application has ended the output buffer itself, so what it printed after that is unknown';
        }

        return Sapi::failure();
    }
}
