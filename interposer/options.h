/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as a struct, made from options.def.  Used by the preload library
 * (KRTSAN_OPTIONS) and by the command line (--name=value); needs no malloc.
 *
 * KRTSAN_OPTIONS has sanitizer syntax: name=value separated by ':', ',' or
 * white space; a value in '...' or "..." may contain separators.
 */
#ifndef KRT_OPTIONS_H
#define KRT_OPTIONS_H

#include "account.h"

#include <stddef.h>
#include <stdint.h>

#define KRT_OPTION_LIST_MAX 16
#define KRT_OPTION_POOL     8192

/* Values of ENUM options: positions in the help text of options.def (a unit test compares). */
enum { KRT_FAIL_ON_error, KRT_FAIL_ON_warning, KRT_FAIL_ON_note, KRT_FAIL_ON_never };
enum { KRT_REQUIRE_none, KRT_REQUIRE_complete };
enum { KRT_SHOW_certain, KRT_SHOW_likely, KRT_SHOW_possible };
enum { KRT_COLOR_auto, KRT_COLOR_always, KRT_COLOR_never };
enum { KRT_TORCH_off, KRT_TORCH_watch, KRT_TORCH_replace };
enum { KRT_STACKS_none, KRT_STACKS_leaf, KRT_STACKS_full };
enum { KRT_PYSTACKS_off, KRT_PYSTACKS_auto, KRT_PYSTACKS_force };
enum { KRT_ON_FULL_wait, KRT_ON_FULL_drop };
enum { KRT_TIMING_off, KRT_TIMING_cupti };
/* host: enum krt_host_mode of account.h */
enum { KRT_SIM_VIEW_observed, KRT_SIM_VIEW_documented };

enum {
#define KRT_OPTION(type, name, def, scope, help) KRT_OPTION_NR_##name,
#include "options.def"
	KRT_NR_OPTIONS
};
/* Who said so. */
enum krt_option_source { KRT_SOURCE_DEFAULT, KRT_SOURCE_ENVIRONMENT, KRT_SOURCE_COMMAND };

struct krt_option_list {
	unsigned count;
	const char *item[KRT_OPTION_LIST_MAX];
};

#define KRT_OPTION_C_BOOL int64_t
#define KRT_OPTION_C_INT  int64_t
#define KRT_OPTION_C_SIZE uint64_t
#define KRT_OPTION_C_STR  const char *
#define KRT_OPTION_C_LIST struct krt_option_list
#define KRT_OPTION_C_ENUM int64_t

/* Strings point into pool: initialise in place and pass by pointer, never copy by assignment. */
struct krt_options {
#define KRT_OPTION(type, name, def, scope, help) KRT_OPTION_C_##type name;
#include "options.def"
	unsigned char source[KRT_NR_OPTIONS]; /* enum krt_option_source, by position in the table */
	unsigned char setting;                /* the source of what krt_options_set is given now */
	size_t used;
	char pool[KRT_OPTION_POOL];
};

enum krt_option_type {
	KRT_OPTION_BOOL, KRT_OPTION_INT, KRT_OPTION_SIZE, KRT_OPTION_STR, KRT_OPTION_LIST, KRT_OPTION_ENUM,
};
enum krt_option_scope { KRT_SCOPE_LIB, KRT_SCOPE_CLI, KRT_SCOPE_BOTH };

struct krt_option_row {
	const char *name, *def, *help;
	enum krt_option_type type;
	enum krt_option_scope scope;
	size_t offset; /* in struct krt_options */
};
extern const struct krt_option_row krt_option_rows[];
extern const unsigned krt_option_count;

/* Names that users of other tools know. */
struct krt_option_alias {
	const char *name;
	unsigned row;
};
extern const struct krt_option_alias krt_option_alias[];
extern const unsigned krt_option_alias_count;

/* The row of a name, or of a name that other tools have for it; `-` is `_`.  NULL: there is none. */
const struct krt_option_row *krt_option_find(const char *name, size_t len);
/* Edit distance of two names, for the hint after a typing error; UINT_MAX: they are too long. */
unsigned krt_name_distance(const char *a, size_t alen, const char *b);
/* Tells a line for each option: name=default and what it does. */
void krt_options_list(void (*tell)(const char *line));
/* All defaults. */
void krt_options_init(struct krt_options *o);
/*
 * One option; value need not be terminated.  0, or -1 and a message in err
 * (`NAME: why`); the option keeps its value then.  BOOL takes
 * 0/1, yes/no, true/false, on/off; a LIST value is added.  A text with both
 * kinds of quotes is refused: KRTSAN_OPTIONS could not hold it.
 */
int krt_options_set(struct krt_options *o, const char *name, size_t namelen, const char *value,
		    size_t valuelen, char *err, size_t errlen);
/*
 * A whole KRTSAN_OPTIONS text (NULL is empty), on top of what o holds.  Goes
 * on after a mistake.  Returns how many mistakes; err holds the first.
 */
int krt_options_parse(struct krt_options *o, const char *text, char *err, size_t errlen);
/* The text of value number v of an ENUM option; length in *len.  NULL if there is none. */
const char *krt_option_value(const struct krt_option_row *row, unsigned v, size_t *len);

#endif
