/*
 * PHP in threads, as a web server with ZTS has it: many requests at once in one process, on one segment.
 *
 *   threads MODULE SCRIPT DIRECTORY THREADS REQUESTS
 *
 * Each thread runs so many requests, each of which is SCRIPT with $thread, $threads, $request and $directory set. The
 * directory, which is empty, is for the segment. A request that ends with another exit status than 0 has failed; then
 * so has this program. After all threads have ended, the script is run once more with $thread = -1, by the first.
 *
 * Built by ext/debug-php with PHP's embed library.
 */
/* PHP's headers want memrchr, and these come before the setting by which they ask for it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "sapi/embed/php_embed.h"

#ifndef ZTS
#error "PHP without threads"
#endif

static const char *script, *directory;
static int threads, requests;
static atomic_int failed;
static pthread_barrier_t all_requests_over;

/* Whether PHP, built with ZEND_RC_DEBUG, looks at what is counted: for all threads at once. */
static void check_counts(bool check)
{
#if ZEND_RC_DEBUG
	zend_rc_debug = check;
#else
	(void) check;
#endif
}

static void run(int thread, int request)
{
	char code[4096];
	int status = 255;

	snprintf(code, sizeof code, "$thread = %d; $threads = %d; $request = %d; $directory = '%s'; require '%s';", thread, threads, request, directory, script);
	zend_first_try {
		zend_eval_string_ex(code, NULL, "threads", true);
		status = EG(exit_status);
	} zend_catch {
		status = EG(exit_status) ? EG(exit_status) : 254;
	} zend_end_try();
	if (status) {
		fprintf(stderr, "threads: thread %d, request %d: exit status %d\n", thread, request, status);
		atomic_fetch_add(&failed, 1);
	}
}

static void *work(void *number)
{
	ts_resource(0);
	for (int i = 0; i < requests; i++) {
		if (php_request_startup() == FAILURE) {
			fprintf(stderr, "threads: a request does not start\n");
			atomic_fetch_add(&failed, 1);
			break;
		}
		run((int) (intptr_t) number, i);
		php_request_shutdown(NULL);
	}
	pthread_barrier_wait(&all_requests_over);
	/* PHP's own tables, which a thread takes down with itself, would not pass its own check. */
	check_counts(false);
	ts_free_thread();

	return NULL;
}

int main(int argc, char **argv)
{
	char settings[4096];
	pthread_t ids[64];

	if (argc != 6 || (threads = atoi(argv[4])) < 1 || threads > 64 || (requests = atoi(argv[5])) < 1) {
		fprintf(stderr, "usage: threads MODULE SCRIPT DIRECTORY THREADS(1-64) REQUESTS\n");
		return 2;
	}
	script = argv[2];
	directory = argv[3];
	/* What is set here, and nothing that lies about on this machine. */
	setenv("PHP_INI_SCAN_DIR", "", 1);
	snprintf(settings, sizeof settings, "%s/threads.ini", directory);
	FILE *file = fopen(settings, "w");
	if (!file || fprintf(file, "extension=\"%s\"\nzend.assertions=1\nmemory_limit=512M\n", argv[1]) < 0 || fclose(file) != 0) {
		perror(settings);
		return 2;
	}
	php_embed_module.php_ini_path_override = settings;
	if (php_embed_init(1, argv) == FAILURE) {
		fprintf(stderr, "threads: PHP does not start\n");
		return 2;
	}
	pthread_barrier_init(&all_requests_over, NULL, (unsigned) threads);
	for (int i = 0; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, work, (void *) (intptr_t) i) != 0) {
			fprintf(stderr, "threads: no more of them\n");
			return 2;
		}
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
	}
	check_counts(true);
	run(-1, 0);
	php_embed_shutdown();
	printf("%d threads of %d requests, %d failed\n", threads, requests, atomic_load(&failed));

	return atomic_load(&failed) ? 1 : 0;
}
