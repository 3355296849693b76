/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Python interpreter's command line says about PYTHONPATH and
 * sitecustomize (cli.h).  Only the plain cases: an interpreter started by a
 * wrapper or a shell is not looked for.
 */
#define _GNU_SOURCE
#include "cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* python, python3, python3.12, pypy3, ... at the end of a path */
static bool interpreter(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!strncmp(name, "python", 6))
		name += 6;
	else if (!strncmp(name, "pypy", 4))
		name += 4;
	else
		return false;
	return name[strspn(name, "0123456789.td")] == 0;
}

/* The flag in one word of options, static text; *skip: its last letter takes the next word. */
static const char *in_word(const char *word, bool *skip, bool *end)
{
	for (const char *c = word + 1; *c; c++) {
		switch (*c) {
		case 'I':
			return "-I";
		case 'E':
			return "-E";
		case 'S':
			return "-S";
		case 'c':
		case 'm':
			*end = true;
			return NULL;
		case 'W':
		case 'X':
		case 'Q':
			*skip = !c[1];
			return NULL;
		}
	}
	return NULL;
}

static const char *in_options(char *const word[])
{
	for (; *word && (*word)[0] == '-' && (*word)[1]; word++) {
		bool skip = false, end = false;
		const char *flag;

		if ((*word)[1] == '-') { /* --check-hash-based-pycs MODE, --help, ... */
			if (!strcmp(*word, "--check-hash-based-pycs") && word[1])
				word++;
			continue;
		}
		flag = in_word(*word, &skip, &end);
		if (flag || end)
			return flag;
		if (skip && word[1])
			word++;
	}
	return NULL;
}

const char *krt_python_ignores(const char *file, char *const argv[])
{
	char text[512], *name, *arg, *words[2] = { NULL, NULL };
	ssize_t n;
	int fd;

	if (interpreter(file) || interpreter(argv[0])) {
		const char *flag = in_options(argv + 1);

		if (flag)
			return flag;
	}
	/* A script: the kernel hands its first line's one argument to the interpreter. */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	n = pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	if (n < 3 || memcmp(text, "#!", 2))
		return NULL;
	text[n] = 0;
	text[strcspn(text, "\r\n")] = 0;
	name = text + 2 + strspn(text + 2, " \t");
	arg = name + strcspn(name, " \t");
	if (!*arg)
		return NULL;
	*arg++ = 0;
	words[0] = arg + strspn(arg, " \t");
	return interpreter(name) ? in_options(words) : NULL;
}
