<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\ServiceFailure;

/**
 * Requests that leave at fixed moments, whether or not earlier ones have come back, as visitors do.
 *
 * A closed loop, which waits for one answer before it asks again, sends nothing while the server stalls: of all who would
 * have waited it counts one (G. Tene's "coordinated omission"). Here each latency counts from the moment at which the
 * request was to leave. Every request has a connection of its own, as ab's have.
 */
final class OpenLoop
{
    /** Seconds for a request. */
    private const PATIENCE = 60;

    /**
     * @param non-empty-string         $url
     * @param float                    $perSecond requests
     * @param int<1, max>              $requests
     * @param \Closure(Response): void $check     given each answer when all have come; throws what is wrong with it
     *
     * @return list<float> microseconds from the planned moment to the answer's end
     *
     * @throws ServiceFailure if one gets no answer
     */
    public static function latencies(string $url, float $perSecond, int $requests, \Closure $check): array
    {
        $perSecond > 0.0 || throw new \LogicException('Without a rate no request ever leaves.');
        $all = \curl_multi_init();
        $latencies = $planned = $responses = [];
        $start = \hrtime(true);
        $moment = static fn(int $request): float => $start + $request * 1e9 / $perSecond;
        for ($sent = 0; \count($latencies) < $requests;) {
            for (; $sent < $requests && \hrtime(true) >= $moment($sent); ++$sent) {
                $handle = \curl_init($url);
                \curl_setopt_array($handle, [\CURLOPT_RETURNTRANSFER => true, \CURLOPT_TIMEOUT => self::PATIENCE, \CURLOPT_FORBID_REUSE => true]);
                $planned[\spl_object_id($handle)] = $moment($sent);
                \curl_multi_add_handle($all, $handle);
            }
            \curl_multi_exec($all, $running);
            while (($done = \curl_multi_info_read($all)) !== false) {
                $handle = $done['handle'];
                \assert($handle instanceof \CurlHandle);
                $done['result'] === \CURLE_OK || throw new ServiceFailure("No answer from $url at " . \round($perSecond, 1) . ' requests a second: ' . \curl_error($handle));
                $latencies[] = \round((\hrtime(true) - $planned[\spl_object_id($handle)]) / 1e3, 1);
                $responses[] = new Response(\curl_getinfo($handle, \CURLINFO_RESPONSE_CODE), [], (string) \curl_multi_getcontent($handle));
                \curl_multi_remove_handle($all, $handle);
            }
            $wait = $sent < $requests ? \max(0.0, ($moment($sent) - \hrtime(true)) / 1e9) : 1.0;
            if ($running > 0) {
                \curl_multi_select($all, $wait);
            } elseif (\count($latencies) < $requests) {
                \usleep((int) ($wait * 1e6));
            }
        }
        \array_walk($responses, $check);

        return $latencies;
    }
}
