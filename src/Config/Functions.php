<?php

declare(strict_types=1);

namespace Larder\Config;

/**
 * The functions that Larder cannot do without, for some hosts disable some (disable_functions).
 *
 * Whatever else hosts disable, the code that calls it asks first whether it exists.
 */
final class Functions
{
    public const NEEDED = [
        'chmod', 'clearstatcache', 'fclose', 'fflush', 'file', 'file_exists', 'file_get_contents', 'file_put_contents', 'filegroup', 'fileinode',
        'filemtime', 'fileowner', 'fileperms', 'filesize', 'flock', 'fopen', 'fread', 'fseek', 'fstat', 'fsync', 'ftell', 'ftruncate', 'fwrite',
        'gc_collect_cycles', 'getcwd', 'getenv', 'hrtime', 'ini_get', 'is_dir', 'is_executable', 'is_file', 'is_link', 'is_writable', 'lstat',
        'memory_get_usage', 'mkdir', 'random_bytes', 'random_int', 'realpath', 'register_shutdown_function', 'rename', 'restore_error_handler',
        'rewind', 'rmdir', 'scandir', 'set_error_handler', 'stream_get_contents', 'stream_set_read_buffer', 'sys_get_temp_dir', 'tmpfile', 'touch',
        'unlink',
    ];

    /** The same for Memcached and Predis. */
    public const SOCKETS = ['fgets', 'stream_context_create', 'stream_get_meta_data', 'stream_set_chunk_size', 'stream_set_timeout', 'stream_socket_client'];

    /** The same for near=apcu. */
    public const APCU = ['apcu_cache_info', 'apcu_delete', 'apcu_enabled', 'apcu_fetch', 'apcu_store'];

    /** The same for the page cache in php-fpm. */
    public const PAGES = ['debug_backtrace', 'header_register_callback', 'header_remove', 'headers_list', 'headers_sent', 'http_response_code', 'ob_start'];

    /**
     * @param list<string> $functions
     *
     * @throws InvalidConfiguration
     */
    public static function check(array $functions): void
    {
        foreach ($functions as $function) {
            if (!\function_exists($function)) {
                throw InvalidConfiguration::disabledFunction($function);
            }
        }
    }
}
