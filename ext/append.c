/*
 * The function Larder\append(): a record at the end of a file that other processes append to as well, under its lock.
 *
 * It is a step of the library's change log (src/Store/Sqlite/ChangeLog.php), which knows what the record means and takes
 * the same step in PHP. There much of the time goes into PHP's streams.
 */
#ifdef HAVE_CONFIG_H
# include "config.h"
#endif

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "php.h"
#include "ext/standard/crc32.h"
#include "php_larder.h"

static void big_endian(unsigned char *to, uint32_t number)
{
	for (int i = 3; i >= 0; i--, number >>= 8) {
		to[i] = (unsigned char) number;
	}
}

/* The caller holds the file's lock. */
static zend_long append_locked(int file, struct iovec *parts, size_t length, zend_long shortest, zend_long longest)
{
	struct stat now;

	/* Deleted, or to be begun, or full: the library's to decide. */
	if (fstat(file, &now) != 0 || now.st_nlink == 0 || now.st_size < shortest || now.st_size >= longest) {
		return -1;
	}
	ssize_t written = pwritev(file, parts, 3, now.st_size);
	if (written == (ssize_t) length) {
		return now.st_size;
	}
	/* The disk is full: no half of a record stays. If it cannot be cut off, readers skip it by its checksum. */
	if (written > 0 && ftruncate(file, now.st_size) != 0) {
		errno = 0;
	}

	return 0;
}

PHP_FUNCTION(Larder_append)
{
	zval *resource;
	zend_string *magic, *record;
	zend_long shortest, longest;
	int file;

	ZEND_PARSE_PARAMETERS_START(5, 5)
		Z_PARAM_RESOURCE(resource)
		Z_PARAM_STR(magic)
		Z_PARAM_STR(record)
		Z_PARAM_LONG(shortest)
		Z_PARAM_LONG(longest)
	ZEND_PARSE_PARAMETERS_END();

	php_stream *stream;
	php_stream_from_zval(stream, resource);
	/* For select: any other way of asking for the descriptor sets its position first, which nothing here uses. Internal:
	   what the stream has read ahead stays with it, and nobody is warned. */
	if (php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void **) &file, 0) != SUCCESS || ZSTR_LEN(record) > INT32_MAX) {
		RETURN_LONG(-1);
	}
	unsigned char head[8];
	big_endian(head, (uint32_t) ZSTR_LEN(record));
	big_endian(head + 4, php_crc32_bulk_end(php_crc32_bulk_update(php_crc32_bulk_init(), ZSTR_VAL(record), ZSTR_LEN(record))));
	struct iovec parts[3] = {
		{ZSTR_VAL(magic), ZSTR_LEN(magic)}, {head, sizeof head}, {ZSTR_VAL(record), ZSTR_LEN(record)},
	};
	if (flock(file, LOCK_EX | LOCK_NB) != 0) {
		RETURN_LONG(0);
	}
	zend_long begins = append_locked(file, parts, ZSTR_LEN(magic) + sizeof head + ZSTR_LEN(record), shortest, longest);
	flock(file, LOCK_UN);
	RETURN_LONG(begins);
}
