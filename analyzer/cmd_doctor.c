/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan doctor: is this machine fit for it?  Every look is made in a child or
 * by file alone, so that a broken driver or library breaks nothing here.
 * Ends with 0: it tells, it does not judge, but for --probe (doctor_probe.c).
 */
#define _GNU_SOURCE
#include "cli.h"
#include "doctor.h"
#include "probe.h"
#include "../interposer/api.h"
#include "../interposer/library.h"
#include "../reports/json.h"
#include "../reports/report.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *as_json, *preloaded, *probe, *sim_driver, *write_to, *peer;
static const struct krt_flag flags[] = {
	{ "json", NULL, "as JSON", &as_json },
	{ "probe", NULL, "measure what calls wait for, on device 0", &probe },
	{ "write", "FILE", "--probe: also write the table, for --semantics=FILE", &write_to },
	{ "sim", NULL, "--probe: the simulated driver", &sim_driver },
	{ "peer", "WHAT", "a second process of --probe (its own use)", &peer, true },
	{ "preloaded", NULL, "is the library in this process? (its own use)", &preloaded, true },
	{ NULL },
};
static const struct krt_usage usage = {
	.command = "doctor",
	.args = "[--json] [--probe [--sim]]",
	.about = "Looks for what krtsan needs: its library and whether it can be preloaded, the "
		 "driver that\n"
		 "programs get, a place for session folders, options in the environment.  Exit "
		 "code 0.\n"
		 "\n"
		 "--probe measures each row of the table of what calls order: what is documented, what\n"
		 "krtsan takes the driver to do, and what this one does, in a minute or so, in processes\n"
		 "and contexts of its own.  Exit code 66: the table claims an order that this driver does\n"
		 "not give; 125: it could not be probed.",
	.flags = flags,
};

enum state { GOOD, NOTE, BAD };

static struct krt_json json;

__attribute__((format(printf, 3, 4)))
static void say(enum state st, const char *what, const char *fmt, ...)
{
	static const char *const word[] = { [GOOD] = "ok", [NOTE] = "note", [BAD] = "bad" };
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!as_json) {
		printf("%-5s %-12s %s\n", word[st], what, text);
		return;
	}
	krt_json_open_flat(&json, NULL, '{');
	krt_json_string(&json, "state", word[st]);
	krt_json_string(&json, "what", what);
	krt_json_string(&json, "text", text);
	krt_json_close(&json, '}');
}

/* Runs look() in a child; what it printed comes back.  False: the child broke. */
static bool in_child(void (*look)(FILE *out), char *text, size_t size)
{
	int fd[2], status;
	ssize_t n, got = 0;
	pid_t pid;

	*text = 0;
	if (pipe2(fd, O_CLOEXEC))
		return false;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		FILE *out = fdopen(fd[1], "w");

		alarm(20); /* a driver may hang */
		if (out) {
			look(out);
			fflush(out);
		}
		_exit(out ? 0 : 1);
	}
	close(fd[1]);
	while (pid > 0 && got < (ssize_t)size - 1 &&
	       ((n = read(fd[0], text + got, size - 1 - (size_t)got)) > 0 ||
		(n < 0 && errno == EINTR)))
		got += n > 0 ? n : 0;
	text[got] = 0;
	close(fd[0]);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	text[strcspn(text, "\n")] = 0;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void look_driver(FILE *out)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*version)(int *);
	struct link_map *map;
	unsigned have = 0, all = 0;
	int v = 0;

	if (!lib)
		return;
	for (unsigned i = 0; i < KRT_NR_APIS; i++) {
		if (krt_api[i].cls == KRT_CLASS_NOTE || krt_api[i].cls == KRT_CLASS_LIBC)
			continue;
		all++;
		have += dlsym(lib, krt_api[i].symbol) != NULL;
	}
	*(void **)&version = dlsym(lib, "cuDriverGetVersion");
	if (version && version(&v))
		v = 0;
	if (!dlinfo(lib, RTLD_DI_LINKMAP, &map))
		fprintf(out, "%s, CUDA %d.%d, %u of %u entry points of the table", map->l_name,
			v / 1000, v % 1000 / 10, have, all);
}

static bool holds_library(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libkrtsan.so") != NULL;
	if (f)
		fclose(f);
	return found;
}

static void look_preload(FILE *out)
{
	char *library = krt_cli_library(), self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0 || !library)
		return;
	self[n] = 0;
	unsetenv("KRTSAN_SESSION");
	unsetenv("KRTSAN_OPTIONS");
	setenv("LD_PRELOAD", library, 1);
	dup2(fileno(out), STDOUT_FILENO);
	dup2(fileno(out), STDERR_FILENO); /* the loader's complaint */
	execl(self, "krtsan", "doctor", "--preloaded", (char *)NULL);
}

static void look_library(void)
{
	char *library = krt_cli_library(), text[1024];

	if (!library) {
		say(BAD, "library", "libkrtsan.so not found in %s or ../lib of it", krt_cli_home());
		return;
	}
	say(GOOD, "library", "%s", library);
	if (in_child(look_preload, text, sizeof(text)) && !strcmp(text, "yes"))
		say(GOOD, "preload", "the loader takes it");
	else
		say(BAD, "preload", "the loader does not take it: %s", *text ? text : "no answer");
	free(library);
}

/* What is known of calls by their arguments; nothing is loaded for it. */
static void look_models(void)
{
	static const char *const name[] = {
#define X(library, file, missing) file,
		KRT_LIBRARIES(X)
#undef X
	};
	unsigned known[KRT_NR_LIBRARIES] = {0};
	char text[256];
	size_t at = 0;

	for (unsigned i = 0; i < KRT_NR_LIB_FNS; i++)
		known[krt_lib_fn[i].library] += krt_lib_fn[i].kind != KRT_LIB_ASK;
	for (unsigned i = 0; i < KRT_NR_LIBRARIES && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %u", i ? ", " : "", name[i], known[i]);
	say(GOOD, "models", "functions known by their arguments: %s", text);
}

static void look_session(void)
{
	struct krt_options *o = malloc(sizeof(*o));
	char err[512], path[4096], *dir = NULL;
	int fd;

	if (!o)
		return;
	krt_options_init(o);
	if (krt_options_parse(o, getenv("KRTSAN_OPTIONS"), err, sizeof(err)))
		say(BAD, "options", "KRTSAN_OPTIONS: %s", err);
	else if (getenv("KRTSAN_OPTIONS"))
		say(NOTE, "options", "KRTSAN_OPTIONS=%s", getenv("KRTSAN_OPTIONS"));
	dir = krt_session_folder(o, err, sizeof(err));
	if (!dir) {
		say(BAD, "session", "%s", err);
		goto out;
	}
	snprintf(path, sizeof(path), "%s/1.1.1", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, 1 << 20))
		say(BAD, "session", "%s: files cannot be allocated: %s", dir, strerror(errno));
	else
		say(GOOD, "session", "%s can be used", dir);
	if (fd >= 0)
		close(fd);
	krt_session_remove(dir);
out:
	free(dir);
	free(o);
}

int krt_cmd_doctor(int argc, char **argv)
{
	char text[1024], *sim;
	int code, words = krt_cli_parse(&usage, argc, argv, NULL, &code);

	if (words < 0)
		return code;
	if (preloaded) {
		puts(holds_library() ? "yes" : "no");
		return 0;
	}
	if (peer)
		return krt_probe_peer(peer, words < argc ? argv[words] : NULL);
	if (probe)
		return krt_doctor_probe(sim_driver != NULL, write_to, as_json != NULL);
	if (write_to || sim_driver)
		return krt_fail("doctor: --%s: wants --probe", write_to ? "write" : "sim");
	if (as_json) {
		krt_json_begin(&json, stdout);
		krt_json_open(&json, NULL, '[');
	}
	say(GOOD, "krtsan", "%s in %s", KRT_VERSION,
	    krt_cli_home() ? krt_cli_home() : "an unknown folder");
	look_library();
	if (!in_child(look_driver, text, sizeof(text)))
		say(BAD, "driver", "libcuda.so.1 breaks the process that loads it");
	else if (*text)
		say(GOOD, "driver", "%s", text);
	else
		say(NOTE, "driver", "no libcuda.so.1: CUDA programs run with --sim only");
	if (access("/dev/nvidiactl", F_OK))
		say(NOTE, "device", "no /dev/nvidiactl: no NVIDIA GPU here");
	else if (access("/dev/nvidiactl", R_OK | W_OK))
		say(BAD, "device", "/dev/nvidiactl: %s", strerror(errno));
	else
		say(GOOD, "device", "/dev/nvidiactl can be used");
	sim = krt_cli_simulator();
	if (sim)
		say(GOOD, "simulator", "%s", sim);
	else
		say(NOTE, "simulator", "not found: `krtsan run --sim` will not work");
	look_models();
	look_session();
	if (getenv("LD_PRELOAD"))
		say(NOTE, "preloads", "LD_PRELOAD=%s: krtsan goes behind it", getenv("LD_PRELOAD"));
	if (getenv("KRTSAN_SESSION"))
		say(NOTE, "nested", "this shell runs inside a krtsan session (%s)",
		    getenv("KRTSAN_SESSION"));
	if (getenv("CUDA_LAUNCH_BLOCKING"))
		say(NOTE, "blocking",
		    "CUDA_LAUNCH_BLOCKING is set: launches wait; hazards are reported all the "
		    "same");
	free(sim);
	if (as_json) {
		krt_json_close(&json, ']');
		krt_json_end(&json);
	}
	fflush(stdout);
	return 0;
}
