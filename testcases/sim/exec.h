/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver's PTX interpreter: executes launches of parsed modules,
 * a few instructions at a time, so that kernels of several streams and the
 * blocks of one grid run in turns.
 *
 * Memory is the process's own: a device address is a pointer.  Every access of
 * the global and generic space outside the launch's own shared, local and
 * parameter memory is asked of mem_check first.  Shared addresses are offsets
 * in the block's shared memory, local ones offsets in the thread's stack.
 *
 * Deterministic: the same module, launch, seed, memory contents and clock give
 * the same result.  No threads and no locks: the caller serialises all calls
 * that concern one module or its launches.
 */
#ifndef SIM_EXEC_H
#define SIM_EXEC_H

#include "../../analyzer/ptx/ptx.h"

#define EXEC_READ   1u
#define EXEC_WRITE  2u
#define EXEC_ATOMIC 4u /* with EXEC_READ | EXEC_WRITE */

struct exec_hooks {
	/*
	 * May these bytes be accessed?  access: EXEC_*; false makes the launch
	 * fault.  NULL: everything may.
	 */
	bool (*mem_check)(void *user, uint64_t addr, size_t size, unsigned access);
	/* Virtual time in ns for %globaltimer; NULL: one ns an instruction of the launch. */
	uint64_t (*clock)(void *user);
	/* Kernel printf, formatted; NULL: stdout. */
	void (*print)(void *user, const char *text, size_t len);
	/* Kernel malloc and free; NULL: malloc fails, as with an empty device heap. */
	void *(*heap_alloc)(void *user, size_t size);
	void (*heap_free)(void *user, void *ptr);
	/* A conditional handle of a graph gets a value; NULL: nothing happens. */
	void (*set_conditional)(void *user, uint64_t handle, uint32_t value);
	void *user;
};

/* Where module variables (.global, .const) live; handed over zeroed or not, we fill them. */
struct exec_mem {
	void *(*alloc)(void *user, size_t size, size_t align, const char *name);
	void (*free)(void *user, void *ptr);
	void *user;
};

struct exec_module; /* one load of one or several PTX modules, with its variables */
struct exec_func;   /* an entry of it */
struct exec_launch;

/*
 * Is every instruction within the interpreter's subset, every symbol defined?
 * 0, or -1 and a message in err ("line 12: wgmma.mma_async...: instruction not
 * supported").  exec_load() checks as well.
 */
int exec_check_module(const struct ptx_module *m, char *err, size_t errlen);

/*
 * Loads n modules as one program; extern symbols of each are looked up in the
 * others.  mem NULL: malloc.  The modules stay the caller's and must outlive
 * the result.  NULL and a message in err on failure.
 */
struct exec_module *exec_load(struct ptx_module *const *mods, unsigned n,
			      const struct exec_mem *mem, char *err, size_t errlen);
/* No launch of it may be unfinished. */
void exec_unload(struct exec_module *em);

/* NULL: no such entry. */
struct exec_func *exec_function(struct exec_module *em, const char *name);
unsigned exec_functions(const struct exec_module *em);
struct exec_func *exec_function_at(struct exec_module *em, unsigned i);
const struct ptx_func *
exec_func_ptx(const struct exec_func *f); /* name, parameters, launch bounds */

struct exec_attr {
	size_t shared_static;  /* bytes of static shared memory */
	size_t local;          /* bytes of local memory a thread (calls not included) */
	size_t constant;       /* bytes of .const in the module */
	unsigned regs;         /* an estimate, at most 255 */
	unsigned max_threads;  /* from .maxntid/.reqntid, else 1024 */
	unsigned ptx_version;  /* 90 for 9.0 */
	unsigned binary_version; /* 90 for sm_90 */
};
void exec_func_attr(const struct exec_func *f, struct exec_attr *a);

/* Address and size of a .global or .const variable; false: no such. */
bool exec_global(const struct exec_module *em, const char *name, uint64_t *addr, size_t *size);
unsigned exec_globals(const struct exec_module *em);
const struct ptx_var *exec_global_at(const struct exec_module *em, unsigned i, uint64_t *addr);

struct exec_config {
	unsigned grid[3], block[3];
	unsigned cluster[3];   /* 0: none */
	size_t shared;         /* dynamic shared memory, bytes */
	const void *params;    /* the parameter block as ptx_var.offset lays it out; copied */
	size_t params_size;    /* shorter than the function's: the rest is zero */
	bool cooperative;      /* all blocks are resident from the start */
	uint64_t seed;         /* 0: blocks and threads in order; else an order drawn from it */
	uint64_t grid_id;      /* %gridid */
	unsigned sms;          /* %nsmid; 0: 4 */
};

enum exec_state { EXEC_RUNNING, EXEC_DONE, EXEC_FAULT };

enum exec_fault_kind {
	EXEC_FAULT_NONE,
	EXEC_FAULT_ADDRESS, /* mem_check said no, or out of shared, local or parameter memory */
	EXEC_FAULT_MISALIGNED,
	EXEC_FAULT_TRAP, /* trap, and a kernel assert */
	EXEC_FAULT_ASSERT,
	EXEC_FAULT_STACK,    /* calls nested too deep */
	EXEC_FAULT_PC,	     /* a call or an indexed branch to nowhere */
	EXEC_FAULT_DEADLOCK, /* no thread can ever run again: a barrier that some threads never
				reach */
	EXEC_FAULT_MEMORY,   /* the simulator itself is out of memory */
};

struct exec_fault {
	enum exec_fault_kind kind;
	uint64_t addr;         /* ADDRESS, MISALIGNED */
	size_t size;
	unsigned access;       /* EXEC_READ ... */
	unsigned ctaid[3], tid[3];
	uint32_t line;         /* of the PTX */
	const char *func;      /* name of the function */
	const char *inst;      /* mnemonic */
};

/*
 * Starts a launch (runs nothing yet).  hooks are copied.  NULL and a message in
 * err when the configuration cannot be: no threads, more than launch bounds
 * allow, more than 1024 threads or 227 KiB of shared memory a block.
 */
struct exec_launch *exec_begin(struct exec_func *f, const struct exec_config *cfg,
			       const struct exec_hooks *hooks, char *err, size_t errlen);
/*
 * Runs about budget thread-instructions.  RUNNING comes back also when all
 * threads spin; FAULT stays.
 */
enum exec_state exec_step(struct exec_launch *l, unsigned budget);
const struct exec_fault *exec_launch_fault(const struct exec_launch *l);
uint64_t exec_instructions(const struct exec_launch *l); /* executed so far */
/* Finished or not; what unfinished threads would have done never happens. */
void exec_end(struct exec_launch *l);

#endif
