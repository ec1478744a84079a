<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/** A page that counts its visitor's visits in the session. */
final class CountingPage
{
    public function __invoke(Request $request): Response
    {
        $session = $request->getSession();
        $visits = $session->get('visits', 0) + 1;
        $session->set('visits', $visits);

        return new Response("visit $visits");
    }
}
