<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Response;
use PHPUnit\Framework\Assert;

/** A site whose plugins' page is worked with as by an administrator with a browser. The plugin lies there, inactive. */
final class PluginSite extends InstalledSite
{
    /** Says what it is asked, in a request of the web. */
    protected const PROBE = <<<'PHP'
        <?php

        add_action('shutdown', static function (): void {
            if (isset($_GET['larder_test'])) {
                ob_end_clean();
                echo json_encode(eval(base64_decode($_GET['larder_test'])));
            }
        }, 0);
        isset($_GET['larder_test']) && ob_start();
        PHP;

    /** @var array<string, string> */
    public array $cookies;

    /** One where it is activated. Parameters are those of the constructor. */
    public static function active(mixed ...$options): self
    {
        $site = new self(...$options);
        $site->activate();

        return $site;
    }

    /** A page as the administrator sees it; redirects are followed. */
    public function page(string $path): Response
    {
        return $this->followed($this->site->get($path, $this->cookies));
    }

    /** @param array<mixed> $fields */
    public function send(string $path, array $fields): Response
    {
        return $this->followed($this->site->post($path, $fields, $this->cookies));
    }

    public function plugins(): Response
    {
        return $this->page($this->admin() . 'plugins.php');
    }

    public function activate(): Response
    {
        return $this->click('activate');
    }

    public function deactivate(): Response
    {
        return $this->click('deactivate');
    }

    public function delete(): Response
    {
        Assert::assertSame(1, \preg_match('~action=delete-selected[^"]*larder[^"]*_wpnonce=([0-9a-f]+)~', \html_entity_decode($this->plugins()->body), $match));

        return $this->send($this->admin() . 'plugins.php', [
            'action' => 'delete-selected', 'checked' => ['larder/larder.php'], 'verify-delete' => '1', '_wpnonce' => $match[1],
        ]);
    }

    /** Presses the button of a notice. */
    public function press(Response $page): Response
    {
        Assert::assertSame(1, \preg_match('~name="action" value="larder_enable">.*?name="_wpnonce" value="([0-9a-f]+)"~s', $page->body, $match), 'There is a button.');

        return $this->send('/wp-admin/admin-post.php', ['action' => 'larder_enable', '_wpnonce' => $match[1]]);
    }

    /** @return list<string> what Larder's notices on a page say, after the kind of each */
    public static function notices(Response $page): array
    {
        \preg_match_all('~<div class="notice notice-(\w+) is-dismissible"><p>(.*?)</p>~s', $page->body, $match, \PREG_SET_ORDER);

        return \array_map(
            static fn(array $notice): string => $notice[1] . ': ' . $notice[2],
            \array_values(\array_filter($match, static fn(array $notice): bool => \str_contains($notice[2], 'Larder') || \str_contains($notice[2], 'drop-in'))),
        );
    }

    /**
     * What PHP code returns at the end of a page: a visitor's; or in wp-admin the administrator's, or somebody else's.
     *
     * @param ?array<string, string> $cookies
     */
    public function web(string $code, string $path = '/', ?array $cookies = null): mixed
    {
        $cookies ??= \str_starts_with($path, '/wp-') ? $this->cookies : [];
        $response = $this->site->get($path . '?larder_test=' . \rawurlencode(\base64_encode($code)), $cookies);

        return \json_decode($response->body, true, flags: \JSON_THROW_ON_ERROR);
    }

    public function title(): string
    {
        $page = $this->site->get('/');
        Assert::assertSame(200, $page->status, $page->body);

        return \preg_match('~<title>(.*?)</title>~s', $page->body, $match) === 1 ? $match[1] : '';
    }

    public function dropIn(): string
    {
        return $this->site->content('object-cache.php');
    }

    public function foreign(string $code): void
    {
        $this->write('foreign', $code);
        \rename($this->site->content('foreign'), $this->dropIn());
    }

    /** @return list<string> */
    public function left(): array
    {
        return \array_values(\preg_grep('/larder|object-cache|advanced-cache/', [...\scandir($this->site->content()) ?: [], ...\scandir(\dirname($this->site->root)) ?: [], ...\scandir($this->site->content('plugins')) ?: []]) ?: []);
    }

    protected function begin(): void
    {
        $this->cookies = $this->site->login();
    }

    private function admin(): string
    {
        return $this->sites === null ? '/wp-admin/' : '/wp-admin/network/';
    }

    private function click(string $action): Response
    {
        $page = $this->plugins();
        Assert::assertSame(1, \preg_match('~href="(plugins\.php\?action=' . $action . '[^"]*larder[^"]*)"~', $page->body, $match), "There is a link to $action.");

        return $this->page($this->admin() . \html_entity_decode($match[1]));
    }

    private function followed(Response $response): Response
    {
        for ($i = 0; $i < 5 && $response->header('location') !== ''; $i++) {
            $to = $response->header('location');
            $path = \str_starts_with($to, 'http') ? \substr($to, \strlen($this->site->url())) : $to;
            $response = $this->site->get($path, $this->cookies);
        }

        return $response;
    }
}
