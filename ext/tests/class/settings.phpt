--TEST--
The setting and phpinfo()
--INI--
larder.segment=/dev/shm/somewhere-%u/segment
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: a setting that the extension does not register (ini_get() gives false).
same('ini_get', '/dev/shm/somewhere-%u/segment', ini_get('larder.segment'));
// From 8.6 on it tells the value that the extension has built in, too.
same('ini_get_all', ['global_value' => '/dev/shm/somewhere-%u/segment', 'local_value' => '/dev/shm/somewhere-%u/segment', 'access' => INI_SYSTEM], array_diff_key(ini_get_all('larder')['larder.segment'], ['builtin_default_value' => true]));
same('ini_set', false, @ini_set('larder.segment', 'none'));
$extension = new ReflectionExtension('larder');
same('entries', ['larder.segment' => '/dev/shm/somewhere-%u/segment', 'larder.segment_total' => ''], $extension->getINIEntries());
$info = static function () use ($extension): string {
    ob_start();
    $extension->info();

    return ob_get_clean();
};
same('nothing is open', false, str_contains($info(), 'Bytes used'));
same('the setting', 1, preg_match('~^larder\.segment => /dev/shm/somewhere-%u/segment => ~m', $info()));
$segment = segment(2 << 20);
$segment->set('k', [1, 2, 3]);
same('what is open', 1, preg_match('~^' . preg_quote(path()) . ' => 1 => \d+ of 2097152 => zero-copy$~m', $info()));
echo "done\n";
--EXPECT--
done
