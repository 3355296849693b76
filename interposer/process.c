/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a process under the library.
 *
 * Nothing happens before the first successful cuInit: no file, no output, and no
 * constructor but the one that names the library to NVTX (nvtx.c).  Then the
 * process attaches: to the session folder that `krtsan run` named in the
 * environment, or to one of its own (a bare run).  A child made by fork is detached
 * (krt_wipe) until it initialises CUDA itself.
 *
 * A bare run is analysed at its exit by `krtsan analyze --bare`, started so that
 * the program cannot notice: no signal, no descriptor, no child that its wait
 * could see.  Its exit code becomes the verdict's if it would have been 0 and no
 * recording ancestor answers for it.  One that outgrows its bound gets its reader
 * early, in a session of its own.
 *
 * Locking: krt_wipe.w.attach around attaching.
 */
#include "process.h"
#include "lane.h"
#include "../interposer/heap.h"
#include "call.h"
#include "graphs.h"
#include "host.h"
#include "images.h"
#include "modules.h"
#include "next.h"
#include "objects.h"
#include "pointers.h"
#include "pyframes.h"
#include "resolve.h"
#include "timing.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PATH_LEN 4096

extern char **environ;

static char session_dir[PATH_LEN];
static bool bare;          /* no front end: we start the analysis */
static bool answered;      /* an ancestor records and answers for our exit code */
static bool tried;         /* to attach, in this process or in the one it was forked from */
static int32_t tried_pid;
static bool second_driver; /* seen before attach */

static int32_t self_pid(void)
{
	return (int32_t)syscall(SYS_getpid);
}

enum { READER_NONE, READER_STARTED, READER_IMPOSSIBLE };
static _Atomic int early;

bool krt_reader_coming(void)
{
	return (!bare || atomic_load(&early) == READER_STARTED) &&
	       !__atomic_load_n(&krt_proc->reader, __ATOMIC_RELAXED);
}

/* ---- entry points passed through unseen ---- */

static struct unseen {
	char name[60];
	int version;
} unseen[128];
static unsigned unseen_count, unseen_written;

static void unseen_write(void)
{
	for (; unseen_written < unseen_count; unseen_written++) {
		const struct unseen *u = &unseen[unseen_written];
		struct krt_rec_mark m = { .h = { .kind = KRT_REC_MARK }, .mark = KRT_MARK_UNWRAPPED };
		char text[96];
		size_t n = krt_format(text, sizeof text, "%s@%d", u->name, u->version);

		m.value = krt_string_id(text, n);
		krt_lane0_write(&m.h, sizeof m);
	}
}

void krt_unwrapped(const char *name, int version)
{
	size_t n = strnlen(name ? name : "", sizeof unseen->name - 1);
	unsigned i;

	krt_lock(&krt_wipe.w.names);
	for (i = 0; i < unseen_count; i++)
		if (unseen[i].version == version && !strncmp(unseen[i].name, name ? name : "", n) &&
		    !unseen[i].name[n])
			break;
	if (i == unseen_count && i < sizeof unseen / sizeof *unseen) {
		memcpy(unseen[i].name, name ? name : "", n);
		unseen[i].name[n] = 0;
		unseen[i].version = version;
		unseen_count++;
		if (krt_attached())
			unseen_write();
	}
	krt_unlock(&krt_wipe.w.names);
}

void krt_second_driver(const char *first, const char *second)
{
	krt_msg("driver: %s: a second libcuda (%s is watched): what goes through it is not seen",
		second, first);
	second_driver = true;
	krt_trouble(KRT_TROUBLE_BYPASS);
}

/* ---- the session folder ---- */

static bool space_for(const char *base, uint64_t bytes)
{
	struct statfs fs;

	return !statfs(base, &fs) && (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= bytes;
}

static bool make_in(const char *base)
{
	size_t n = 0;

	if (!base || !*base)
		return false;
	if (*base != '/') { /* the program may change its folder */
		if (!getcwd(session_dir, sizeof session_dir - 64))
			return false;
		n = strlen(session_dir);
		session_dir[n++] = '/';
	}
	if (n + strlen(base) + 64 > sizeof session_dir)
		return false;
	krt_format(session_dir + n, sizeof session_dir - n, "%s/krtsan-%d-XXXXXX", base, self_pid());
	return mkdtemp(session_dir) != NULL;
}

static bool make_folder(void)
{
	const char *place[] = { "/dev/shm", secure_getenv("TMPDIR"), "/tmp" };

	if (*krt_opt.session_dir)
		return make_in(krt_opt.session_dir);
	for (unsigned round = 0; round < 2; round++) /* where the bound fits, then anywhere */
		for (unsigned i = 0; i < sizeof place / sizeof *place; i++)
			if (place[i] && (round || space_for(place[i], krt_opt.bound + (16u << 20))) &&
			    make_in(place[i]))
				return true;
	return false;
}

/* The files of this process in a folder of its own, then the folder. */
static void remove_folder(void)
{
	struct { uint64_t ino, off; uint16_t len; uint8_t type; char name[]; } *d;
	char buf[1024] __attribute__((aligned(8)));
	int fd = (int)syscall(SYS_openat, AT_FDCWD, session_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	long n;

	if (fd < 0)
		return;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0)
		for (long at = 0; at < n; at += d->len) {
			d = (void *)(buf + at);
			if (d->name[0] != '.')
				syscall(SYS_unlinkat, fd, d->name, 0);
		}
	syscall(SYS_close, fd);
	rmdir(session_dir);
}

/* ---- ancestors ---- */

static size_t read_file(const char *path, char *buf, size_t size)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : syscall(SYS_read, fd, buf, size - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	buf[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

static int32_t parent_of(int32_t pid)
{
	char path[64], buf[512], *p;
	int32_t v = 0;

	krt_format(path, sizeof path, "/proc/%d/stat", pid);
	read_file(path, buf, sizeof buf);
	p = strrchr(buf, ')'); /* the name may hold anything */
	if (!p || p[1] != ' ' || !p[2] || p[3] != ' ')
		return 0;
	for (p += 4; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (*p - '0');
	return v;
}

/* Has this process a session folder's process file mapped, that is, does it record a bare run? */
static bool records(int32_t pid)
{
	const size_t room = 65536, keep = 512;
	char path[64], *buf = krt_map(room + keep + 1), *at;
	bool found = false;
	size_t held = 0;
	long n;
	int fd;

	krt_format(path, sizeof path, "/proc/%d/maps", pid);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	while (buf && fd >= 0 && !found && (n = syscall(SYS_read, fd, buf + held, room)) > 0) {
		size_t have = held + (size_t)n;

		buf[have] = 0;
		for (at = buf; (at = strstr(at, "/krtsan-")); at++) {
			const char *end = strchr(at, '\n');

			if (end && end - at > 5 && !memcmp(end - 5, ".proc", 5))
				found = true;
		}
		held = have < keep ? have : keep; /* a match may span two reads */
		memmove(buf, buf + have - held, held);
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	krt_unmap(buf, room + keep + 1);
	return found;
}

static bool ancestor_records(void)
{
	int32_t pid = (int32_t)syscall(SYS_getppid);

	for (unsigned i = 0; i < 32 && pid > 0; i++, pid = parent_of(pid))
		if (records(pid))
			return true;
	return false;
}

/*
 * What krtsan gets of the environment, copied at attach: later the program may
 * be changing it, or be at its end.  No LD_PRELOAD, and no LD_LIBRARY_PATH: the
 * program's libraries are not krtsan's.
 */
static char *kept[64];

static void keep_environment(void)
{
	static const char *const names[] = {
		"PATH=", "HOME=", "USER=", "LANG=", "LC_ALL=", "LC_CTYPE=", "TERM=", "COLORTERM=", "NO_COLOR=",
		"TMPDIR=", "XDG_CACHE_HOME=", "DEBUGINFOD_URLS=", "CUDA_HOME=", "KRTSAN_",
	};
	size_t n = 0;

	for (char **e = environ; e && *e && n < sizeof kept / sizeof *kept - 1; e++)
		for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
			size_t len = strlen(*e) + 1;

			if (strncmp(*e, names[i], strlen(names[i])))
				continue;
			kept[n] = krt_alloc(len);
			if (kept[n])
				memcpy(kept[n++], *e, len);
			break;
		}
	kept[n] = NULL;
}

/* ---- attach ---- */

static void on_exit_handler(int status, void *data);

bool krt_attach_watch(unsigned api)
{
	if (atomic_load_explicit(&krt_wipe.w.attached, memory_order_acquire) == KRT_STOPPED)
		return false;
	if (api == KRT_API_cuInit)
		return true;
	switch (krt_api[api].op) {
	case KRT_OP_EXPORT_TABLE: /* works, and is called, before cuInit */
	case KRT_OP_CAPTURE_MODE:
		return false;
	}
	return !tried || tried_pid == self_pid(); /* else a fork child: waits for its own cuInit */
}

static void tell_option(const char *line)
{
	krt_msg("%s", line);
}

static bool attach(unsigned trouble)
{
	const char *session = secure_getenv("KRTSAN_SESSION");
	char err[256] = "";
	struct krt_proc *p;
	int r;

	bare = !session || *session != '/';
	atomic_store(&early, READER_NONE);
	if (tried) { /* a fork child on its own */
		krt_modules_forked();
		krt_heap_forked();
		krt_host_forked();
	}
	if (!tried) {
		krt_options_init(&krt_opt);
		r = krt_options_parse(&krt_opt, secure_getenv("KRTSAN_OPTIONS"), err, sizeof err);
		if (r && bare)
			krt_msg("KRTSAN_OPTIONS: %s (%d mistake%s; the rest is in force)", err, r, r > 1 ? "s" : "");
		if (krt_opt.help)
			krt_options_list(tell_option);
	}
	tried = true;
	tried_pid = self_pid();
	if (bare) {
		keep_environment();
		answered = ancestor_records();
		if (!make_folder()) {
			krt_msg("session: no folder can be made in %s: nothing is recorded",
				*krt_opt.session_dir ? krt_opt.session_dir : "/dev/shm, TMPDIR or /tmp");
			return false;
		}
	} else {
		if (strlen(session) >= sizeof session_dir - 64)
			return false;
		memcpy(session_dir, session, strlen(session) + 1);
	}
	r = krt_record_open(session_dir);
	if (r || !krt_intern_open() || !krt_call_open() || !krt_objects_open() || !krt_graphs_open() ||
	    !krt_images_open() || !krt_pointers_open() || !krt_pyframes_open()) {
		if (bare) {
			krt_msg("session: %s: %s: nothing is recorded", session_dir,
				r == -ENOSPC ? "no space" : r == -EMFILE ? "no descriptor" : "no memory");
			remove_folder();
		}
		return false;
	}
	p = krt_proc;
	p->parent_records = !bare || answered;
	p->trouble = trouble | (second_driver ? KRT_TROUBLE_BYPASS : 0);
	syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", p->exe, sizeof p->exe - 1);
	if (secure_getenv("KRTSAN_OPTIONS"))
		krt_format(p->options, sizeof p->options, "%s", secure_getenv("KRTSAN_OPTIONS"));
	if (krt_session++) { /* forked from a process that recorded */
		krt_modules_forked();
		krt_heap_forked();
		krt_host_forked();
	}
	krt_record_publish();
	return true;
}

void krt_attach(unsigned trouble)
{
	const char *before;
	bool mine = false;

	krt_wipe_arm();
	krt_lock(&krt_wipe.w.attach);
	if (!atomic_load(&krt_wipe.w.attached)) {
		if (getauxval(AT_SECURE))
			mine = false; /* not inside a set-user-id program */
		else
			mine = attach(trouble);
		atomic_store_explicit(&krt_wipe.w.attached, mine ? KRT_RECORDING : KRT_STOPPED,
				      memory_order_release);
	}
	krt_unlock(&krt_wipe.w.attach);
	if (!mine)
		return;
	before = krt_next_before("dlsym");
	if (before) {
		krt_trouble(KRT_TROUBLE_BYPASS);
		krt_msg("attach: %s defines dlsym in front of libkrtsan.so: what is looked up through it is not seen",
			before);
	}
	krt_objects_driver();
	krt_host_open();
	krt_timing_open();
	krt_modules_refresh();
	krt_lock(&krt_wipe.w.names);
	unseen_written = 0;
	unseen_write();
	krt_unlock(&krt_wipe.w.names);
	__atomic_store_n(&krt_proc->state, KRT_PROC_RUNNING, __ATOMIC_RELEASE);
	/* after cuInit, so that it runs before the driver's own exit work */
	on_exit(on_exit_handler, NULL);
}

/* ---- the analysis of a bare run ---- */

struct job {
	const char *path;     /* of krtsan */
	char **argv, **envp;
	bool keep_stdout;
	bool follow;          /* an early reader: not waited for */
	volatile int error;   /* errno of exec */
	char *stack[2];       /* of the one in between and of krtsan's */
};

/*
 * Where the program has lowered its own limits, its report needs more: what the
 * hard limit allows.  Not the stack (it decides where mappings go), not the core.
 */
static void widen_limits(void)
{
	static const int wide[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU };
	struct rlimit lim;

	for (unsigned i = 0; i < sizeof wide / sizeof *wide; i++)
		if (!syscall(SYS_prlimit64, 0, wide[i], NULL, &lim) && lim.rlim_cur != lim.rlim_max) {
			lim.rlim_cur = lim.rlim_max;
			syscall(SYS_prlimit64, 0, wide[i], &lim, NULL);
		}
}

/* In a child that shares our memory and has all signals blocked: runs krtsan. */
static int run_krtsan(void *data)
{
	struct job *job = data;
	struct sigaction def = { .sa_handler = SIG_DFL };
	sigset_t none;
	int null;

	sigaction(SIGCHLD, &def, NULL);
	sigaction(SIGPIPE, &def, NULL);
	widen_limits();
	null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	syscall(SYS_dup3, null, 0, 0);
	if (!job->keep_stdout)
		syscall(SYS_dup3, null, 1, 0);
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
	if (syscall(SYS_close_range, 3, ~0u, 0))
		for (int fd = 3; fd < 4096; fd++)
			syscall(SYS_close, fd);
	if (job->follow)
		syscall(SYS_setsid); /* signals for the program's group are not for it */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execve, job->path, job->argv, job->envp);
	job->error = errno;
	syscall(SYS_exit, 127);
	return 127;
}

#define JOB_STACK 16384

/*
 * The one in between: its child is krtsan, so that neither the program's wait
 * nor its SIGCHLD handler ever meets a process of ours.  It shares our memory
 * and we stand still until it ends.
 */
static int between(void *data)
{
	struct job *job = data;
	struct sigaction def = { .sa_handler = SIG_DFL };
	int pid, status;

	sigaction(SIGCHLD, &def, NULL);
	pid = clone(run_krtsan, job->stack[1] + JOB_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, job);
	if (pid < 0)
		job->error = errno;
	else if (!job->follow || job->error)
		while (syscall(SYS_wait4, pid, &status, 0, NULL) < 0 && errno == EINTR)
			;
	syscall(SYS_exit, 0);
	return 0;
}

static int run_job(struct job *job)
{
	/* not mapped when needed: the program may have used up its address space */
	static _Alignas(16) char stacks[2][2][JOB_STACK];
	sigset_t all, old;
	int pid, status;

	job->stack[0] = stacks[job->follow][0];
	job->stack[1] = stacks[job->follow][1];
	job->error = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* no exit signal: not a child that wait() sees */
	pid = clone(between, job->stack[0] + JOB_STACK, CLONE_VM | CLONE_VFORK, job);
	if (pid < 0)
		job->error = errno;
	else
		while (syscall(SYS_wait4, pid, &status, __WCLONE, NULL) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -job->error;
}

static bool executable(const char *path)
{
	struct stat st;

	return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

/* krtsan: beside this library (a build tree), as the link in its private folder (installed), in ../bin, in PATH. */
static bool find_krtsan(char *out, size_t size)
{
	const struct krt_module *self = krt_module_self();
	const char *path = NULL;
	size_t n = 0;

	for (char **e = kept; *e; e++)
		if (!strncmp(*e, "PATH=", 5))
			path = *e + 5;
	if (self && self->path_len < size - 32) {
		memcpy(out, self->path, self->path_len);
		for (n = self->path_len; n && out[n - 1] != '/'; n--)
			;
	}
	if (n) {
		static const char *const places[] = {"krtsan", "krtsan/krtsan", "../bin/krtsan"};

		for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
			krt_format(out + n, size - n, "%s", places[i]);
			if (executable(out))
				return true;
		}
	}
	while (path && *path) {
		size_t k = strcspn(path, ":");

		if (k && k + 16 < size) {
			memcpy(out, path, k);
			krt_format(out + k, size - k, "/krtsan");
			if (executable(out))
				return true;
		}
		path += k + (path[k] == ':');
	}
	return false;
}

static bool prepare(struct job *job, bool follow)
{
	static char path[PATH_LEN], command[] = "analyze", bare_flag[] = "--bare", follow_flag[] = "--follow";
	static char *argv[6];
	unsigned n = 0;

	if (!find_krtsan(path, sizeof path)) {
		if (!follow)
			krt_msg("analyze: krtsan is neither beside libkrtsan.so nor in PATH; the records stay: "
				"krtsan analyze %s", session_dir);
		return false;
	}
	argv[n++] = path;
	argv[n++] = command;
	argv[n++] = bare_flag;
	if (follow)
		argv[n++] = follow_flag;
	argv[n++] = session_dir;
	argv[n] = NULL;
	*job = (struct job){ .path = path, .argv = argv, .envp = kept, .follow = follow,
			     .keep_stdout = !strcmp(krt_opt.log_path, "stdout") };
	return true;
}

bool krt_reader_early(void)
{
	static struct krt_lock lock;
	int state = atomic_load(&early), reaper = 0;
	struct job job;

	if (!bare || state == READER_STARTED)
		return true;
	if (state == READER_IMPOSSIBLE)
		return false;
	krt_lock(&lock);
	if (atomic_load(&early) == READER_NONE) {
		/* where we would be its parent in the end, the program's wait would see it */
		bool seen = self_pid() == 1 || prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0) || reaper;

		atomic_store(&early, !seen && prepare(&job, true) && !run_job(&job) ? READER_STARTED
										   : READER_IMPOSSIBLE);
	}
	krt_unlock(&lock);
	return atomic_load(&early) == READER_STARTED;
}

static bool reader_gone(void)
{
	static unsigned unseen_for;
	int32_t pid = __atomic_load_n(&krt_proc->reader, __ATOMIC_RELAXED);

	if (pid <= 0)
		return ++unseen_for > 5000; /* it never came, or it has gone without a verdict */
	return syscall(SYS_kill, pid, 0) && errno == ESRCH;
}

/* The code that the verdict names, -1: there is none. */
static int read_verdict(void)
{
	static char path[PATH_LEN + 16];
	char text[64];
	int code = 0;

	krt_format(path, sizeof path, "%s/verdict", session_dir);
	if (read_file(path, text, sizeof text) <= 5 || memcmp(text, "code ", 5))
		return -1;
	for (const char *p = text + 5; *p >= '0' && *p <= '9' && code < 256; p++)
		code = code * 10 + (*p - '0');
	return code > 255 ? -1 : code;
}

/* Analyses the folder; the verdict's exit code, or 0. */
static int analyse(void)
{
	const struct timespec ms = { 0, 1000000 };
	struct job job;
	int code, r;

	if (atomic_load(&early) == READER_STARTED) {
		while ((code = read_verdict()) < 0 && !reader_gone())
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ms, NULL);
	} else {
		if (!prepare(&job, false))
			return 0;
		r = run_job(&job);
		if (r) {
			krt_msg("analyze: %s: cannot be started (error %d); the records stay: krtsan analyze %s",
				job.path, -r, session_dir);
			return 0;
		}
		code = read_verdict();
	}
	if (code < 0)
		code = read_verdict(); /* the reader may have ended just so */
	if (code < 0) {
		krt_msg("analyze: no verdict; the records stay: krtsan analyze %s", session_dir);
		return 0;
	}
	remove_folder();
	return code;
}

/* ---- exit ---- */

/* The process ends with this code: which one shall it be? */
static int finish(int status, enum krt_proc_state state)
{
	uint32_t was;
	int code = 0;

	if (!krt_proc || krt_proc->pid != self_pid())
		return status; /* a vfork child has our memory, but not our records */
	if (krt_attached()) {
		krt_timing_flush();
		krt_record_last(state == KRT_PROC_EXEC ? KRT_MARK_EXEC : KRT_MARK_EXITING, 0);
	}
	was = atomic_exchange(&krt_wipe.w.attached, KRT_STOPPED);
	if (was == KRT_DETACHED)
		return status;
	if (__atomic_load_n(&krt_proc->state, __ATOMIC_RELAXED) >= KRT_PROC_EXITED)
		return status; /* exit within exit */
	krt_record_sum();
	krt_proc->exit_code = status;
	/* an early reader must not take the life after exec for this one's */
	__atomic_store_n(&krt_proc->state, atomic_load(&early) == READER_STARTED ? KRT_PROC_EXITED : state,
			 __ATOMIC_RELEASE);
	if (bare)
		code = analyse();
	return state == KRT_PROC_EXITED && bare && !status && !answered ? code : status;
}

static bool ours(void)
{
	return atomic_load(&krt_wipe.w.attached) != KRT_DETACHED && krt_proc && tried_pid == self_pid();
}

static void on_exit_handler(int status, void *data)
{
	int saved = errno, code;

	(void)data;
	if (!ours())
		return;
	code = finish(status & 255, KRT_PROC_EXITED);
	errno = saved;
	if (code != (status & 255))
		exit(code); /* the handlers that are left run, then this code counts */
}

static void *next(void *_Atomic *cache, const char *name)
{
	void *p = atomic_load_explicit(cache, memory_order_acquire);

	if (!p) {
		p = krt_next(name);
		atomic_store_explicit(cache, p, memory_order_release);
	}
	return p;
}

#define NEXT(name) ({ static void *_Atomic cache_; (__typeof__(&name))next(&cache_, #name); })

static _Noreturn void exit_now(int status)
{
	if (ours())
		status = finish(status & 255, KRT_PROC_EXITED);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _exit(int status)
{
	exit_now(status);
}

EXPORT void _Exit(int status)
{
	exit_now(status);
}

EXPORT void quick_exit(int status)
{
	void (*real)(int) = NEXT(quick_exit);

	if (ours())
		status = finish(status & 255, KRT_PROC_EXITED);
	if (real)
		real(status);
	exit_now(status);
}

/* ---- exec ---- */

/*
 * Under a front end the state says that the trace ends here on purpose; a bare
 * run is analysed now, since nobody would later.
 */
static void before_exec(void)
{
	int saved = errno;

	if (ours() && krt_attached()) {
		if (bare) {
			finish(0, KRT_PROC_EXEC);
		} else {
			krt_record_last(KRT_MARK_EXEC, 0);
			krt_record_sum();
			__atomic_store_n(&krt_proc->state, KRT_PROC_EXEC, __ATOMIC_RELEASE);
		}
	}
	errno = saved;
}

/* It failed: the program goes on. */
static int after_exec(int r)
{
	int saved = errno;

	if (ours() && krt_attached())
		__atomic_store_n(&krt_proc->state, KRT_PROC_RUNNING, __ATOMIC_RELEASE);
	errno = saved;
	return r;
}

static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	int (*real)(const char *, char *const[], char *const[]) = NEXT(execve);

	before_exec();
	return after_exec(real ? real(path, argv, envp) : missing());
}

EXPORT int execv(const char *path, char *const argv[])
{
	int (*real)(const char *, char *const[]) = NEXT(execv);

	before_exec();
	return after_exec(real ? real(path, argv) : missing());
}

EXPORT int execvp(const char *file, char *const argv[])
{
	int (*real)(const char *, char *const[]) = NEXT(execvp);

	before_exec();
	return after_exec(real ? real(file, argv) : missing());
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	int (*real)(const char *, char *const[], char *const[]) = NEXT(execvpe);

	before_exec();
	return after_exec(real ? real(file, argv, envp) : missing());
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	int (*real)(int, char *const[], char *const[]) = NEXT(fexecve);

	before_exec();
	return after_exec(real ? real(fd, argv, envp) : missing());
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	int (*real)(int, const char *, char *const[], char *const[], int) = NEXT(execveat);

	before_exec();
	return after_exec(real ? real(dir, path, argv, envp, flags) : missing());
}

/* The list forms: arguments into an array on the stack (a vfork child may have nothing else). */
#define COLLECT(first)                                                                      \
	va_list ap;                                                                         \
	size_t n = 1;                                                                       \
	char **argv;                                                                        \
                                                                                            \
	va_start(ap, first);                                                                \
	while (va_arg(ap, char *))                                                          \
		n++;                                                                        \
	va_end(ap);                                                                         \
	argv = alloca((n + 1) * sizeof *argv);                                              \
	argv[0] = (char *)(uintptr_t)first;                                                 \
	va_start(ap, first);                                                                \
	for (size_t i = 1; i <= n; i++)                                                     \
		argv[i] = va_arg(ap, char *)

EXPORT int execl(const char *path, const char *arg, ...)
{
	COLLECT(arg);
	va_end(ap);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	COLLECT(arg);
	va_end(ap);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char *const *envp;
	COLLECT(arg);

	envp = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, argv, envp);
}
