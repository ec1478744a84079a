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

/* Bytes of the file's header, see ChangeLog.php: generation and end. */
#define GENERATION 8
#define HEADER 16

static void big_endian(unsigned char *to, uint64_t number, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--, number >>= 8) {
		to[i] = (unsigned char) number;
	}
}

static uint32_t checksum(const void *bytes, size_t length)
{
	return php_crc32_bulk_end(php_crc32_bulk_update(php_crc32_bulk_init(), bytes, length));
}

/* The caller holds the file's lock. */
static zend_long append_locked(int file, zend_string *record, uint32_t sum, zend_long longest)
{
	struct stat now;
	unsigned char header[HEADER], head[8];
	uint64_t end = 0;

	if (fstat(file, &now) != 0 || now.st_nlink == 0 || pread(file, header, HEADER, 0) != HEADER) {
		return 0;
	}
	for (int i = GENERATION; i < HEADER; i++) {
		end = end << 8 | header[i];
	}
	/* Cut or written over by another program, or full: the library's to decide. */
	if (end < HEADER || end > (uint64_t) now.st_size || end >= (uint64_t) longest) {
		return 0;
	}
	big_endian(head, ZSTR_LEN(record), 4);
	big_endian(head + 4, sum ^ checksum(header, GENERATION), 4);
	struct iovec parts[2] = {{head, sizeof head}, {ZSTR_VAL(record), ZSTR_LEN(record)}};
	size_t length = sizeof head + ZSTR_LEN(record);
	if (pwritev(file, parts, 2, (off_t) end) == (ssize_t) length) {
		/* Within one page, so all of it or nothing is written. */
		big_endian(header, end + length, 8);
		if (pwrite(file, header, 8, GENERATION) == 8) {
			return (zend_long) end;
		}
	}
	/* The disk is full. Nobody reads behind the end; there may be no room for anything else. */
	if (ftruncate(file, (off_t) end) != 0) {
		errno = 0;
	}

	return 0;
}

PHP_FUNCTION(Larder_append)
{
	zval *resource;
	zend_string *record;
	zend_long longest;
	int file;

	ZEND_PARSE_PARAMETERS_START(3, 3)
		Z_PARAM_RESOURCE(resource)
		Z_PARAM_STR(record)
		Z_PARAM_LONG(longest)
	ZEND_PARSE_PARAMETERS_END();

	php_stream *stream;
	php_stream_from_zval(stream, resource);
	/* For select: any other way of asking for the descriptor sets its position first, which nothing here uses. Internal:
	   what the stream has read ahead stays with it, and nobody is warned. */
	if (php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void **) &file, 0) != SUCCESS || ZSTR_LEN(record) > INT32_MAX || longest < 0) {
		RETURN_LONG(0);
	}
	uint32_t sum = checksum(ZSTR_VAL(record), ZSTR_LEN(record));
	if (flock(file, LOCK_EX | LOCK_NB) != 0) {
		RETURN_LONG(0);
	}
	zend_long begins = append_locked(file, record, sum, longest);
	flock(file, LOCK_UN);
	RETURN_LONG(begins);
}
