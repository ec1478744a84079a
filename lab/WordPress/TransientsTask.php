<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\ServiceFailure;

/** One request to a site that sets, gets and deletes so many transients (Shop/transients.php). */
final readonly class TransientsTask extends SiteTask
{
    /** @param non-empty-list<Side> $sides of one subject and one payload: write, read, delete, or some of them */
    public function __construct(
        Stage $stage,
        string $id,
        array $sides,
        private int $count,
    ) {
        parent::__construct($stage, $id, $sides);
    }

    protected function measure(Site $site, Context $context): array
    {
        Stage::renew($site);
        $site->get('/');
        $payload = $this->sides[0]->cell->payload;
        $answer = $site->browser()->ask(new Request("/larder-lab-transients.php?count=$this->count&mark=$context->seed&payload=$payload"));
        $found = \json_decode($answer->body, true);
        if ($answer->status !== 200 || !\is_array($found)) {
            throw new ServiceFailure("The loop ended with status $answer->status: " . \substr(\trim(\strip_tags($answer->body)), -300) . $site->errors());
        }

        $wrong = \is_string($found['wrong'] ?? null) ? \trim("$found[wrong]. " . \substr($site->errors(), -300)) : null;

        return \array_map(static function (Side $side) use ($found, $wrong): Measured {
            $time = $found[$side->cell->operation] ?? null;

            return new Measured(\is_int($time) || \is_float($time) ? [\round((float) $time, 5)] : [], null, $wrong);
        }, $this->sides);
    }
}
