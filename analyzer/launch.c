/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session folders and the program under the library: environment, start,
 * signals, end (cli.h).
 *
 * The program stays in our process group and keeps the terminal.  A key press
 * (SIGINT, SIGQUIT) reaches it by itself and is not passed on again; a signal
 * that somebody sent to us alone is.  We are no subreaper: an orphan of the
 * program would see another parent than without us.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "guard.h"
#include "packed.h"
#include "session.h"
#include "../interposer/record.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libkrtsan.so"
#define LINGER_MS 5000    /* for processes that record and outlive the program */
#define BEGIN_MS  3000    /* for those that outlive it and may yet begin to record */
#define BUDGET    100000  /* records between two looks at signals */
#define IDLE_MS   20      /* longest sleep between two looks at the buffers */
#define BUSY_MS   3       /* the same while something comes */

/* --- session folders --------------------------------------------------------------- */

#define NAME "krtsan." /* and six characters */

/* Nobody may have waited for it: a zombie does nothing any more. */
static bool lives(pid_t pid)
{
	char path[64], text[512], *s;
	ssize_t n;
	int fd;

	if (pid <= 0 || (kill(pid, 0) && errno == ESRCH))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	s = strrchr(text, ')'); /* the name may hold anything */
	return !s || s[1] != ' ' || (s[2] != 'Z' && s[2] != 'X');
}

/* Is the process of this file of a session folder there, or who reads it? */
static bool in_use(int dir, const char *name)
{
	struct krt_proc head;
	size_t room = offsetof(struct krt_proc, exe);
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool use = true;

	if (fd < 0)
		return true;
	if (pread(fd, &head, room, 0) == (ssize_t)room)
		use = !head.pid || lives(head.pid) || lives(head.reader);
	close(fd);
	return use;
}

/*
 * What a front end that was killed has left there: a folder of ours that nobody holds and whose
 * processes are gone.  Of a bare run it stays (its name is another): that is all there is of it.
 */
static void sweep(const char *base)
{
	DIR *d = opendir(base), *f;
	struct dirent *e, *g;

	while (d && (e = readdir(d))) {
		struct stat st;
		bool use = false, some = false;
		char *path;
		int fd;

		if (strncmp(e->d_name, NAME, strlen(NAME)) || strlen(e->d_name) != strlen(NAME) + 6 ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) ||
		    st.st_uid != geteuid() || asprintf(&path, "%s/%s", base, e->d_name) < 0)
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		f = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ? NULL : opendir(path);
		while (f && !use && (g = readdir(f))) {
			size_t n = strlen(g->d_name);

			if (n > 5 && !strcmp(g->d_name + n - 5, ".proc")) {
				some = true;
				use = in_use(fd, g->d_name);
			}
		}
		if (f && some && !use)
			krt_session_remove(path);
		if (f)
			closedir(f);
		if (fd >= 0)
			close(fd);
		free(path);
	}
	if (d)
		closedir(d);
}

static char *make_in(const char *base)
{
	char *path;
	int fd;

	if (!base || !*base || asprintf(&path, "%s/" NAME "XXXXXX", base) < 0)
		return NULL;
	sweep(base);
	if (mkdtemp(path)) { /* mode 0700 */
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			flock(fd, LOCK_SH | LOCK_NB); /* held to our end: it is not left over */
		return path;
	}
	free(path);
	return NULL;
}

char *krt_session_folder(const struct krt_options *o, char *err, size_t errlen)
{
	const char *place[] = { "/dev/shm", getenv("TMPDIR"), "/tmp" };
	char *dir, *real;

	if (*o->session_dir) {
		dir = make_in(o->session_dir);
		if (!dir)
			snprintf(err, errlen, "session: %s: no folder can be made there: %s",
				 o->session_dir, strerror(errno));
	} else {
		dir = NULL;
		/* First where the bound fits, then anywhere. */
		for (unsigned round = 0; round < 2 && !dir; round++)
			for (unsigned i = 0; i < sizeof(place) / sizeof(*place) && !dir; i++) {
				struct statvfs fs;

				if (!place[i] || !*place[i] || statvfs(place[i], &fs))
					continue;
				if (!round && (uint64_t)fs.f_bavail * fs.f_frsize < o->bound)
					continue;
				dir = make_in(place[i]);
			}
		if (!dir)
			snprintf(err, errlen,
				 "session: no folder can be made in /dev/shm, TMPDIR or /tmp: %s",
				 strerror(errno));
	}
	if (!dir)
		return NULL;
	real = realpath(dir, NULL); /* the program may change its folder */
	if (!real)
		return dir;
	free(dir);
	return real;
}

/* PID.STARTNS.proc, PID.STARTNS.N, PID.STARTNS.packed, verdict, KRT_NO_PROCESS */
static bool trace_file(const char *name)
{
	size_t n;

	if (!strcmp(name, "verdict") || !strcmp(name, KRT_NO_PROCESS))
		return true;
	n = strspn(name, "0123456789");
	if (!n || name[n] != '.')
		return false;
	name += n + 1;
	n = strspn(name, "0123456789");
	if (!n || name[n] != '.')
		return false;
	name += n + 1;
	return !strcmp(name, "proc") || !strcmp(name, &KRT_PACKED_SUFFIX[1]) || (*name && strspn(name, "0123456789") == strlen(name));
}

static bool dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

bool krt_session_is_trace(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool good = d != NULL, some = false;

	while (good && (e = readdir(d))) {
		if (dots(e->d_name))
			continue;
		good = trace_file(e->d_name);
		some |= good;
	}
	if (d)
		closedir(d);
	return good && some;
}

/* Without memory of the allocator, and safe in a signal handler. */
int krt_session_remove(const char *dir)
{
	struct {
		uint64_t ino, off;
		uint16_t len;
		uint8_t type;
		char name[];
	} *d;
	char buf[4096] __attribute__((aligned(8)));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	long n;

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n; at += d->len) {
			d = (void *)(buf + at);
			if (trace_file(d->name))
				unlinkat(fd, d->name, 0);
		}
	if (fd >= 0)
		close(fd);
	return rmdir(dir);
}

/* --- the program ------------------------------------------------------------------- */

char *krt_program_file(const char *name)
{
	const char *path = getenv("PATH");
	int err = ENOENT;

	if (strchr(name, '/'))
		return strdup(name);
	for (path = path ? path : "/bin:/usr/bin"; ; path++) {
		size_t n = strcspn(path, ":");
		char *file;
		struct stat st;

		if (asprintf(&file, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name) < 0)
			return NULL;
		if (!stat(file, &st) && S_ISREG(st.st_mode)) {
			if (!access(file, X_OK))
				return file;
			err = EACCES;
		}
		free(file);
		path += n;
		if (!*path)
			break;
	}
	errno = err;
	return NULL;
}

/* Why the preload would not reach a program; NULL: no reason seen. */
static const char *unreachable(const char *file, unsigned depth)
{
	union {
		Elf64_Ehdr elf;
		char text[512];
	} head;
	const char *why = NULL;
	struct stat st;
	ssize_t n;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return NULL;
	n = pread(fd, &head, sizeof(head), 0);
	if (n > 2 && !memcmp(head.text, "#!", 2) && depth < 4) {
		char *name = head.text + 2;

		head.text[n - 1] = 0;
		name += strspn(name, " \t");
		name[strcspn(name, " \t\n")] = 0;
		close(fd);
		return unreachable(name, depth + 1);
	}
	if (n < (ssize_t)sizeof(head.elf) || memcmp(head.elf.e_ident, ELFMAG, SELFMAG))
		goto out;
	if (fstat(fd, &st) == 0 && (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
				    ((st.st_mode & S_ISGID) && st.st_gid != getegid()))) {
		why = "it is set-user-ID or set-group-ID: the loader ignores LD_PRELOAD";
		goto out;
	}
	if (geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0) {
		why = "it has file capabilities: the loader ignores LD_PRELOAD";
		goto out;
	}
	if (head.elf.e_ident[EI_CLASS] != ELFCLASS64) {
		why = "it is no 64-bit program";
		goto out;
	}
	if (head.elf.e_phentsize == sizeof(Elf64_Phdr) && head.elf.e_phnum < 1024) {
		bool interp = false;

		for (unsigned i = 0; i < head.elf.e_phnum && !interp; i++) {
			Elf64_Phdr ph;

			if (pread(fd, &ph, sizeof(ph),
				  (off_t)(head.elf.e_phoff + i * sizeof(ph))) != sizeof(ph))
				break;
			interp = ph.p_type == PT_INTERP;
		}
		if (!interp)
			why = "it is statically linked: there is no loader that would heed "
			      "LD_PRELOAD";
	}
out:
	close(fd);
	return why;
}

/* Ours goes in front of what is there. */
static int prepend_path(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *text;
	int r;

	if (!old || !*old)
		return setenv(name, value, 1);
	if (asprintf(&text, "%s:%s", value, old) < 0)
		return -1;
	r = setenv(name, text, 1);
	free(text);
	return r;
}

/*
 * LD_PRELOAD: the library goes behind what is there.  A copy of it that somebody
 * named gives way: two would record the same calls, each its own version.
 */
static int preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *text = malloc((old ? strlen(old) : 0) + strlen(library) + 2), *at = text;
	int r;

	if (!text)
		return -1;
	while (old && *old) {
		size_t n = strcspn(old, ": ");
		const char *name = memrchr(old, '/', n);

		name = name ? name + 1 : old;
		if (n && ((size_t)(old + n - name) != strlen(LIBRARY) || memcmp(name, LIBRARY, strlen(LIBRARY)))) {
			memcpy(at, old, n);
			at += n;
			*at++ = ':';
		}
		old += n + (old[n] != 0);
	}
	strcpy(at, library);
	r = setenv("LD_PRELOAD", text, 1);
	free(text);
	return r;
}

static int environment(const char *dir, const char *library, const char *sim, const char *torch,
		       const char *options)
{
	if (setenv("KRTSAN_SESSION", dir, 1) || setenv("KRTSAN_OPTIONS", options, 1))
		return -1;
	if (sim && prepend_path("LD_LIBRARY_PATH", sim))
		return -1;
	if (torch && prepend_path("PYTHONPATH", torch))
		return -1;
	return preload(library);
}

static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (unsigned i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		sigaddset(set, passed_on[i]);
}

int krt_child_start(struct krt_child *c, char **argv, const char *dir, const struct krt_options *o,
		    bool sim)
{
	char *library = krt_cli_library(), *simulator = NULL, *torch = NULL;
	char *file = NULL, *options = NULL;
	int pipefd[2] = { -1, -1 }, err = 0, code = KRT_EXIT_FAILED;
	const char *why;
	static const int wide[] = { RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA };
	struct rlimit limit;
	sigset_t set, old;
	void (*chld)(int);
	ssize_t n;

	memset(c, 0, sizeof(*c));
	c->signals = -1;
	if (!library) {
		krt_fail("run: libkrtsan.so: not found in %s or ../lib of it", krt_cli_home());
		goto out;
	}
	if (strpbrk(library, ": \t")) {
		krt_fail("run: %s: LD_PRELOAD cannot hold a path with a colon or a space", library);
		goto out;
	}
	if (sim) {
		simulator = krt_cli_simulator();
		if (!simulator) {
			krt_fail("run: the simulated driver sim/libcuda.so.1: not found beside "
				 "krtsan in %s",
				 krt_cli_home());
			goto out;
		}
	}
	if (o->torch != KRT_TORCH_off) {
		torch = krt_cli_torch();
		if (!torch || strchr(torch, ':')) {
			krt_fail("run: torch/sitecustomize.py: %s in %s",
				 torch ? "PYTHONPATH cannot hold a path with a colon, it lies"
				       : "not found beside krtsan",
				 krt_cli_home());
			goto out;
		}
	}
	file = krt_program_file(argv[0]);
	if (!file) {
		code = errno == ENOENT ? KRT_EXIT_NOT_FOUND : KRT_EXIT_NOT_EXEC;
		krt_fail("run: %s: %s", argv[0], errno == ENOENT ? "not found" : strerror(errno));
		goto out;
	}
	why = unreachable(file, 0);
	if (why)
		krt_fail("run: %s: the library will not be loaded: %s", argv[0], why);
	why = torch ? krt_python_ignores(file, argv) : NULL;
	if (why)
		krt_fail("run: %s: %s: the interpreter will not load the PyTorch feed: only PyTorch's "
			 "segments will be seen, not its blocks", argv[0], why);
	options = krt_options_text(o);
	if (!options || pipe2(pipefd, O_CLOEXEC)) {
		krt_fail("run: %s: %s", argv[0], options ? strerror(errno) : "no memory");
		goto out;
	}
	signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	chld = signal(SIGCHLD, SIG_DFL); /* ignored, it would take the exit code */
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	fflush(NULL);
	c->pid = c->signals < 0 ? -1 : fork();
	if (!c->pid) {
		signal(SIGCHLD, chld);
		sigprocmask(SIG_SETMASK, &old, NULL);
		if (!environment(dir, library, simulator, torch, options)) {
			if (strchr(argv[0], '/'))
				execv(argv[0], argv);
			else
				execvp(argv[0], argv);
		}
		err = errno;
		n = write(pipefd[1], &err, sizeof(err));
		_exit(n == sizeof(err) ? 127 : 126);
	}
	close(pipefd[1]);
	pipefd[1] = -1;
	if (c->pid < 0) {
		krt_fail("run: %s: cannot be started: %s", argv[0], strerror(errno));
		goto unblock;
	}
	do
		n = read(pipefd[0], &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	if (n == sizeof(err)) {
		waitpid(c->pid, NULL, 0);
		code = err == ENOENT   ? KRT_EXIT_NOT_FOUND
		       : err == ENOMEM ? KRT_EXIT_FAILED
				       : KRT_EXIT_NOT_EXEC;
		krt_fail("run: %s: cannot be executed: %s", argv[0], strerror(err));
		goto unblock;
	}
	/*
	 * Each thread of each process has a file, a trace and a report may be long,
	 * and neither a closed stderr nor a file limit must kill us.
	 */
	for (unsigned i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (!getrlimit(wide[i], &limit)) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit(wide[i], &limit);
		}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	krt_guard_program(c->pid, 0);
	code = 0;
	goto out;
unblock:
	sigprocmask(SIG_SETMASK, &old, NULL);
out:
	if (code && c->signals >= 0)
		close(c->signals);
	for (unsigned i = 0; i < 2; i++)
		if (pipefd[i] >= 0)
			close(pipefd[i]);
	free(options);
	free(file);
	free(torch);
	free(simulator);
	free(library);
	return code;
}

/*
 * For a moment within exec a process has a program and no environment yet: one
 * such of our own terminal session may be ours.  Kernel threads and zombies have
 * no program.
 */
static bool in_exec(const char *pid)
{
	char path[64], exe[16];

	snprintf(path, sizeof(path), "/proc/%.16s/exe", pid);
	return getsid(atoi(pid)) == getsid(0) && readlink(path, exe, sizeof(exe)) > 0;
}

bool krt_session_inhabited(const char *dir)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool found = false;
	char *want, *text = NULL;
	size_t room = 0;
	bool some;

	if (!d || asprintf(&want, "KRTSAN_SESSION=%s", dir) < 0) {
		if (d)
			closedir(d);
		return false;
	}
	while (!found && (e = readdir(d))) {
		char path[64];
		ssize_t n;
		FILE *f;

		if (strspn(e->d_name, "0123456789") != strlen(e->d_name) ||
		    atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/environ", e->d_name);
		f = fopen(path, "re"); /* other people's cannot be opened; a zombie's is empty */
		some = false;
		while (f && !found && (n = getdelim(&text, &room, 0, f)) > 0) {
			some = true;
			found = !strcmp(text, want);
		}
		if (f)
			fclose(f);
		if (f && !some)
			found = in_exec(e->d_name);
	}
	closedir(d);
	free(text);
	free(want);
	return found;
}

int krt_child_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void reap(struct krt_child *c)
{
	int status;

	while (!c->exited) {
		pid_t pid = waitpid(c->pid, &status, WNOHANG);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid != c->pid)
			return;
		c->exited = true;
		c->code = krt_child_code(status);
		krt_guard_program(0, c->code);
	}
}

void krt_child_wait(struct krt_child *c, int ms)
{
	struct pollfd p = { .fd = c->signals, .events = POLLIN };
	struct signalfd_siginfo si;

	if (poll(&p, 1, ms) <= 0)
		return;
	while (read(c->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		if (c->exited)
			c->stopped = true;
		else if (si.ssi_code <= 0) /* sent by a process, not by the terminal */
			kill(c->pid, (int)si.ssi_signo);
	}
	reap(c);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void krt_child_follow(struct krt_child *c, const char *dir, const struct krt_follower *f)
{
	int64_t ended = 0, now;
	int wait = 1;

	for (;;) {
		bool was = c->exited, recording;
		size_t n = f->step(f->user, BUDGET);

		if (c->stopped) {
			f->stop(f->user, "interrupted");
			return;
		}
		/* Only a look that began after the end has seen everything of the program itself.
		 */
		if (was && !n) {
			now = now_ms();
			ended = ended ? ended : now;
			recording = f->alive(f->user);
			if (!recording && (now - ended >= BEGIN_MS || !krt_session_inhabited(dir)))
				return;
			if (now - ended >= LINGER_MS) {
				f->stop(f->user, "still running");
				return;
			}
			wait = IDLE_MS;
		} else {
			/* A trickle is left to gather: the processor is the program's. */
			wait = n >= BUDGET / 4	? 0
			       : n		? BUSY_MS
			       : wait < IDLE_MS ? wait + 1
						: IDLE_MS;
		}
		krt_child_wait(c, wait);
	}
}

void krt_child_end(struct krt_child *c)
{
	sigset_t set;

	signal_set(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	close(c->signals);
	c->signals = -1;
}

/* Would the loader find a driver for a program started from here?  Looked up by a process of its
 * own: what a driver does when it is loaded is not for us. */
static bool driver_there(void)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		alarm(20); /* a driver may hang */
		_exit(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) ? 0 : 1);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 || !WIFEXITED(status) || !WEXITSTATUS(status);
}

void krt_child_hint(const struct krt_child *c, bool sim)
{
	if (c->code == KRT_EXIT_NOT_FOUND && !sim && !driver_there())
		krt_fail("run: the program ended with 127, and this machine has no libcuda.so.1: "
			 "--sim runs a "
			 "driver-API program without a GPU; `krtsan doctor` says what is here");
}
