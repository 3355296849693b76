/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress on a terminal (progress.h).
 *
 * The line is written with one write each time, so that it does not mix with
 * stdio's buffers, and is cut to the terminal's width: a line that wraps cannot
 * be rewritten.
 */
#define _GNU_SOURCE
#include "progress.h"
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define STEP	  20000 /* records between two looks at the clock */
#define EVERY_MS  250
#define ETA_AFTER 1000 /* before that it would jump about */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* 1,234,567 */
static const char *grouped(uint64_t n, char text[32])
{
	char *at = text + 31;

	*at = 0;
	for (unsigned digit = 0; !digit || n; n /= 10, digit++) {
		if (digit && digit % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + n % 10);
	}
	return at;
}

/* 42 s, 3 min 05 s, 2 h 10 min */
static void duration(int64_t s, char *text, size_t size)
{
	if (s < 60)
		snprintf(text, size, "%" PRId64 " s", s);
	else if (s < 3600)
		snprintf(text, size, "%" PRId64 " min %02" PRId64 " s", s / 60, s % 60);
	else
		snprintf(text, size, "%" PRId64 " h %02" PRId64 " min", s / 3600, s / 60 % 60);
}

static void show(struct krt_progress *p, const char *text)
{
	static const char erase[] = "\r\033[K";
	struct winsize ws;
	char line[256];
	int n, room = 80;

	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) && ws.ws_col > 1)
		room = ws.ws_col;
	room += (int)sizeof(erase) - 1 - 1; /* the last column stays free */
	n = snprintf(line, sizeof(line), "%s%s%s%s%s", erase, *text ? "krtsan: " : "",
		     *text ? p->what : "", *text ? ": " : "", text);
	if (n > (int)sizeof(line) - 1)
		n = sizeof(line) - 1;
	if (n > room)
		n = room;
	p->shown = *text != 0;
	if (write(STDERR_FILENO, line, (size_t)n) != n)
		p->on = false;
}

void krt_progress_begin(struct krt_progress *p, const char *what, uint64_t total)
{
	const char *term = getenv("TERM");

	*p = (struct krt_progress){.what = what, .total = total, .began = now_ms()};
	p->on = total >= KRT_PROGRESS_LEAST && isatty(STDERR_FILENO) &&
		!(term && !strcmp(term, "dumb"));
}

/* Is it time to say more? */
static bool due(struct krt_progress *p)
{
	int64_t now = now_ms();

	if (now < p->next)
		return false;
	p->next = now + EVERY_MS;
	return true;
}

void krt_progress_at(struct krt_progress *p, uint64_t done, uint64_t count, const char *noun)
{
	char text[128], left[32] = "", number[32];
	int64_t spent;

	if (!p->on || !due(p))
		return;
	spent = now_ms() - p->began;
	if (done > p->total)
		done = p->total;
	if (done && spent >= ETA_AFTER)
		duration((int64_t)((double)spent / (double)done * (double)(p->total - done) / 1000),
			 left, sizeof(left));
	snprintf(text, sizeof(text), "%u %%, %s %s%s%s%s",
		 (unsigned)((double)done / (double)p->total * 100), grouped(count, number), noun,
		 *left ? ", " : "", left, *left ? " left" : "");
	show(p, text);
}

void krt_progress_step(struct krt_progress *p, const char *step)
{
	if (p->on)
		show(p, step);
}

static void tries(void *progress, uint64_t again)
{
	struct krt_progress *p = progress;
	char text[64], number[32];

	if (!p->on || !due(p))
		return;
	snprintf(text, sizeof(text), "trying fixes, %s record%s", grouped(again, number),
		 again == 1 ? "" : "s");
	show(p, text);
}

void krt_progress_trace(struct krt_progress *p, const char *what, struct krt_session *s)
{
	uint64_t records, bytes, total;
	size_t n = krt_session_step(s, STEP); /* opens what there is */

	krt_session_volume(s, &records, &bytes, &total);
	krt_progress_begin(p, what, what ? total : 0);
	while (n) {
		krt_session_volume(s, &records, &bytes, &total);
		krt_progress_at(p, bytes, records, "records");
		n = krt_session_step(s, STEP);
	}
	krt_progress_step(p, "making the report");
	krt_session_tell(s, tries, p);
}

void krt_progress_end(struct krt_progress *p)
{
	if (p->shown)
		show(p, "");
	p->on = false;
}
