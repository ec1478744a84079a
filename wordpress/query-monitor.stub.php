<?php

declare(strict_types=1);

// Stand-ins for the classes of Query Monitor that Larder's panel is made from, with their signatures: for PHPStan, and
// as a plugin for AdminQueryMonitorTest, which no Query Monitor is there for. As that does, it asks for collectors when
// the plugins are loaded, and for panels at the request's end.
//
// See johnbillion/query-monitor: classes/Collector.php, Collectors.php, Output.php, output/Html.php, dispatchers/Html.php.

abstract class QM_Collector
{
    /** @var string */
    public $id = '';

    public function __construct() {}

    /** @return void */
    public function set_up() {}

    final public function id(): string
    {
        return "qm-{$this->id}";
    }

    /** @return void */
    public function process() {}
}

final class QM_Collectors
{
    /** @var array<string, QM_Collector> */
    private static array $items = [];

    public static function add(QM_Collector $collector): void
    {
        $collector->set_up();
        self::$items[$collector->id] = $collector;
    }

    /** @return QM_Collector|null */
    public static function get(string $id)
    {
        return self::$items[$id] ?? null;
    }

    public static function process(): void
    {
        foreach (self::$items as $collector) {
            $collector->process();
        }
    }
}

abstract class QM_Output
{
    /** @var QM_Collector */
    protected $collector;

    public function __construct(QM_Collector $collector)
    {
        $this->collector = $collector;
    }

    /** @return mixed */
    abstract public function get_output();

    /** @return void */
    public function output() {}
}

abstract class QM_Output_Html extends QM_Output
{
    /** @var bool */
    public static $client_side_rendered = false;

    /** @return string */
    abstract public function name();

    /**
     * @param array<string, mixed[]> $menu
     *
     * @return array<string, mixed[]>
     */
    public function admin_menu(array $menu)
    {
        return [$this->collector->id() => ['title' => esc_html($this->name()), 'href' => '#' . $this->collector->id()]] + $menu;
    }

    public function get_output()
    {
        ob_start();
        $this->output();

        return (string) ob_get_clean();
    }

    /** @return void */
    protected function before_non_tabular_output()
    {
        echo '<div class="qm qm-non-tabular" id="', esc_attr($this->collector->id()), '"><div class="qm-boxed"><h2>', esc_html($this->name()), '</h2>';
    }

    /** @return void */
    protected function after_non_tabular_output()
    {
        echo '</div></div>';
    }
}

if (function_exists('add_action')) {
    add_action('plugins_loaded', static function (): void {
        foreach ((array) apply_filters('qm/collectors', [], null) as $collector) {
            $collector instanceof QM_Collector && QM_Collectors::add($collector);
        }
    });
    add_action('shutdown', static function (): void {
        if (!function_exists('is_user_logged_in') || !is_user_logged_in()) {
            return;
        }
        QM_Collectors::process();
        $panels = (array) apply_filters('qm/outputter/html', [], null);
        echo '<nav>', esc_html((string) wp_json_encode(apply_filters('qm/output/menus', []))), '</nav>';
        foreach ($panels as $panel) {
            $panel instanceof QM_Output && $panel->output();
        }
    }, 0);
}
