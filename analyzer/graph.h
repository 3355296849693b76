/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as it was read from the driver, and what its nodes touch.
 *
 * An image is decoded from struct krt_graph_rec: nested graphs are expanded in
 * place, so that order inside an executable is one plain graph.  A node that
 * holds others (child graph, conditional) stands for its beginning; an added
 * KRT_GNODE_END node stands for its completion.  What came before the holder
 * comes before everything inside, what comes after it comes after the end.
 * Records are untrusted: every size and place is checked; what does not fit
 * makes the image NULL, not half of one.
 *
 * What a node touches is settled when the node is made (captured, added, its
 * parameters set): the accesses with the owners that their addresses had then.
 * This set is shared by the node, by every image read later in which the node
 * still has the same parameters, and by the executables made from those.
 *
 * An owner is a life of memory: an allocation, a pool's block or a range of the
 * program's heap, as far as some node names it.  It outlives the memory.
 *
 * Reference counted; memory from the engine's heap; not locked.
 */
#ifndef KRT_GRAPH_H
#define KRT_GRAPH_H

#include "../rules/finding.h"
#include "memory.h"
#include "pattern.h"

struct krt_engine;

enum krt_gnode_type { /* CUgraphNodeType */
	KRT_GNODE_KERNEL = 0,
	KRT_GNODE_MEMCPY = 1,
	KRT_GNODE_MEMSET = 2,
	KRT_GNODE_HOST = 3,
	KRT_GNODE_GRAPH = 4,
	KRT_GNODE_EMPTY = 5,
	KRT_GNODE_WAIT_EVENT = 6,
	KRT_GNODE_EVENT_RECORD = 7,
	KRT_GNODE_SEMAS_SIGNAL = 8,
	KRT_GNODE_SEMAS_WAIT = 9,
	KRT_GNODE_MEM_ALLOC = 10,
	KRT_GNODE_MEM_FREE = 11,
	KRT_GNODE_BATCH_MEM_OP = 12,
	KRT_GNODE_CONDITIONAL = 13,
	KRT_GNODE_END = 0xffff, /* the completion of a GRAPH or CONDITIONAL node */
};
const char *krt_gnode_type_name(unsigned type);

/* --- owners ----------------------------------------------------------------------- */

struct krt_owner {
	unsigned refs;
	uint32_t serial;	/* unique in the engine */
	enum krt_mem_kind kind; /* of the allocation, also for a block of it */
	bool block;		/* a pool's block */
	bool ended;
	bool heap;	    /* ended as a range of the heap (free, munmap), not by a CUDA call */
	bool recycled;	    /* a block of a capture: somebody outside of it has its bytes now */
	uint64_t base, size; /* addresses; of an array: its handle */
	uint64_t space, off; /* the memory itself: id of its space, first byte in it */
	unsigned capture;    /* blocks: of the capture it was handed out in, 0: none */
	struct krt_origin made, freed;
	char *name; /* krtsan_name(), or NULL */
	struct krt_owner_use *uses; /* footprint.c: the executables that name it */
	struct krt_owner_index *in; /* NULL: not found by address */
	struct krt_node node;	    /* key: base */
	struct krt_owner *same, *same_prev; /* of the same base and class of size */
};

/* Owners that are found by address: ranges that may overlap, by power of two of their size. */
struct krt_owner_index {
	struct krt_tree of_size[64]; /* by base */
	size_t count;
};
enum krt_owner_where {
	KRT_OWNERS_HEAP,   /* ranges of pageable memory */
	KRT_OWNERS_LOOSE,  /* blocks of captures that ended: who gets their bytes matters */
	KRT_OWNERS_MAPPED, /* mappings that ended: the same memory may be mapped there again */
	KRT_OWNERS_WHERES
};
/* All owners of an engine. */
struct krt_owners {
	struct krt_heap *heap;
	struct krt_owner_index index[KRT_OWNERS_WHERES];
	uint32_t serial;
};
void krt_owner_unref(struct krt_owners *all, struct krt_owner *o);
unsigned krt_owner_class(uint64_t size);
void krt_owner_forget(struct krt_owner *o); /* no longer found by address */
/* An owner as a finding's buffer, [from, end) in it; strings are constants or the owner's. */
void krt_owner_buffer(const struct krt_owner *o, uint64_t from, uint64_t end,
		      struct krt_buffer *b);

/* --- what a node touches --------------------------------------------------------------- */

/* Beside those of memory.h: memory of graphs themselves (alloc nodes); the key is the address. */
#define KRT_SPACE_GRAPH 3

enum krt_gaccess_role {
	KRT_GROLE_COPY_SRC,
	KRT_GROLE_COPY_DST,
	KRT_GROLE_SET,
	KRT_GROLE_KERNEL, /* know tells how it is known */
	KRT_GROLE_HOSTFN, /* userData of a host node: one byte of unknown use */
	KRT_GROLE_MEMOP,  /* a flag word: written or waited for on purpose */
};

/*
 * One access; all of it lies in one owner's memory (or in none that is known).
 * rows of width bytes each, pitch apart, and slices of them.  Of a kernel one row,
 * perhaps with gaps, or rows that are all touched; where only the beginning is known
 * (sure FROM) one byte.  Of one that is only given a pointer: kind UNKNOWN, know
 * POINTER or WORD.
 */
struct krt_gaccess {
	uint8_t kind; /* enum krt_access_kind */
	uint8_t know; /* enum krt_knowledge */
	uint8_t role; /* enum krt_gaccess_role */
	uint8_t sure; /* enum krt_sureness */
	bool host;    /* host memory: pageable, pinned or registered */
	bool held;    /* a kernel's: its pointer lies inside a larger parameter */
	bool stray;   /* a word of a large parameter: it may be left over from other uses */
	uint64_t space; /* id of the space: two accesses meet where space and keys are the same */
	uint64_t key;	/* of the first byte in it */
	uint64_t addr;	/* of the first byte; an offset in an array */
	uint64_t width, rows, pitch, slices, slice_pitch;
	struct krt_pattern *gaps; /* keys; NULL: none */
	uint64_t base;		  /* the kernel's pointer that it was reached from; 0: none */
	struct krt_owner *owner; /* of the allocation; NULL: not known */
	struct krt_owner *block; /* of the pool's block in it; NULL: none */
};

struct krt_gset {
	unsigned refs;
	struct krt_owners *owners;
	uint64_t hash;		/* of type and payload */
	struct krt_origin made; /* the captured call, cuGraphAdd*Node or *SetParams; seq 0: unseen */
	unsigned capture;	/* 0: not by a captured call */
	uint32_t kernel;	/* id, 0: none */
	uint64_t thread;	/* serial of the thread that made it */
	uint64_t event;		/* of an event node */
	bool coop, stack;	/* stack: it names memory on that thread's stack */
	bool opaque;		/* a kernel of whose parameters nothing is known */
	bool waits;		/* for what is not seen: a semaphore, a value in memory */
	bool wild;		/* a kernel that may write where nothing tells of it */
	bool spins, locks, ordered, large; /* as of struct krt_op_info */
	/* by its PTX: lets the kernel behind a programmatic edge begin; begins without waiting */
	bool triggers, goes;
	uint32_t n, cap;
	struct krt_gaccess *access;
};

void krt_gset_unref(struct krt_gset *s);

/* What is known of an access beside its bytes. */
struct krt_how {
	uint8_t kind; /* enum krt_access_kind */
	uint8_t sure; /* enum krt_sureness */
	bool copy;    /* or set: not a kernel's */
	bool coop;    /* of a cooperative kernel */
};
#define KRT_NO_CONFLICT (-1)
/*
 * Two accesses that have bytes in common (of a pointer: its first byte), with
 * nothing to order them: an enum krt_confidence, or KRT_NO_CONFLICT.
 */
int krt_how_conflict(struct krt_how a, struct krt_how b);

/* --- images ---------------------------------------------------------------------- */

#define KRT_GNODE_NONE UINT32_MAX
#define KRT_GDEPTH_MAX 32 /* of nesting */

enum krt_gnode_flags {
	KRT_GN_UNREAD = 1 << 0, /* its parameters could not be read */
	KRT_GN_MAYBE = 1 << 1,	/* in the body of a conditional: runs any number of times */
	KRT_GN_HOLDER = 1 << 2, /* GRAPH, CONDITIONAL: the nodes up to `end` are inside */
};
struct krt_gnode {
	uint16_t type;	 /* enum krt_gnode_type */
	uint16_t flags;	 /* enum krt_gnode_flags */
	uint32_t holder; /* place of the holder in the image, KRT_GNODE_NONE: of the graph itself */
	uint32_t end;	 /* holders: place of the END node; END: of the holder; others: their own */
	uint32_t body;	 /* in a conditional: which of its bodies; bodies of IF and SWITCH exclude
			    one another, runs of one body follow one another */
	uint32_t place;	 /* in the list of nodes of its graph */
	uint64_t graph;	 /* CUgraph that it lies in */
	uint64_t node;	 /* CUgraphNode; END: that of the holder */
	uint64_t ctx;
	const void *payload; /* see record.h; NULL where len is 0 */
	uint32_t len;
	struct krt_gset *set; /* what it touches; NULL: nothing, or not resolved yet */
};
struct krt_gedge {
	uint32_t from, to;		  /* places in the image */
	uint8_t from_port, to_port, type; /* CUgraphEdgeData; 0 on added edges */
};
/* An address that the graph allocates itself. */
struct krt_gmem {
	uint64_t addr, bytes;
	uint32_t alloc; /* place of the MEM_ALLOC node */
	uint32_t free;	/* of the MEM_FREE node, KRT_GNODE_NONE: not in this graph */
};

struct krt_graph_image {
	struct krt_heap *heap;
	unsigned refs;
	uint64_t graph; /* CUgraph */
	bool unread;	/* not all of it could be read */
	uint32_t nodes, edges, mems;
	uint32_t nodes_cap, edges_cap, mems_cap;
	struct krt_gnode *node; /* a holder comes before what it holds, its END after it */
	struct krt_gedge *edge; /* in no order */
	struct krt_gmem *mem;	/* by address */
	void *bytes;		/* the record; payloads point into it */
	uint32_t len;
};

/* NULL: the record is damaged, or no memory (heap->failed). */
struct krt_graph_image *krt_graph_image_new(struct krt_heap *heap, const void *rec, uint32_t len);
struct krt_graph_image *krt_graph_image_ref(struct krt_graph_image *g);
void krt_graph_image_unref(struct krt_graph_image *g);
/* The graph's own memory that holds addr, or NULL. */
const struct krt_gmem *krt_graph_image_mem(const struct krt_graph_image *g, uint64_t addr);

/*
 * Fills in node[i].set of every node: the one made with the node where its
 * parameters are still those, else one of the present moment.  False: no memory.
 */
bool krt_graph_image_resolve(struct krt_engine *e, const struct krt_call *c,
			     struct krt_graph_image *g);
/* "kernel node scale (captured by cuLaunchKernel #42)" into buf. */
const char *krt_gnode_text(const struct krt_engine *e, const struct krt_graph_image *g,
			   uint32_t node, char *buf, size_t len);
/* Name of a kernel node's kernel, "cuMemcpy..." of others: what stands as an operation's api. */
const char *krt_gnode_api(const struct krt_engine *e, const struct krt_graph_image *g, uint32_t node,
			  char *buf, size_t len);
/* --- the engine's part ------------------------------------------------------------- */

/* A node of a template, as long as that lives. */
struct krt_gentry {
	uint64_t handle, graph;
	uint16_t type;
	struct krt_gset *set;
	struct krt_node own; /* alloc nodes: key is the address, bytes of it */
	uint64_t bytes;	     /* 0: not in the tree */
	struct krt_gentry *prev, *next; /* of the same graph, in the order that they were made */
	UT_hash_handle hh;
};
struct krt_gtemplate {
	uint64_t handle, parent; /* parent: the graph in whose child node it lies, 0: none */
	bool children;
	struct krt_gentry *first, *last;
	struct krt_gtemplate *drop; /* the next one to go */
	UT_hash_handle hh;
};

/*
 * What an executable touches, immutable: by space, lists of disjoint segments by
 * how, each with a node that stands for it; and the owners that it names.
 */
enum krt_fkind {
	KRT_FK_READ,
	KRT_FK_WRITE,
	KRT_FK_ATOMIC,
	KRT_FK_BARRIER, /* atomic, of a cooperative kernel */
	KRT_FKINDS
};
enum krt_flist {
	KRT_FL_COPY_READ,
	KRT_FL_COPY_WRITE, /* sets too */
	KRT_FL_POINTER,	   /* of a kernel of which no more is known */
	KRT_FL_KERNEL,	   /* the rest: by sureness and, of each, by enum krt_fkind */
	KRT_FLISTS = KRT_FL_KERNEL + KRT_SURES * KRT_FKINDS
};
struct krt_how krt_flist_how(unsigned list);
/* By `from`.  Those with gaps may overlap others of their list. */
struct krt_fseg {
	uint64_t from, end; /* keys of the space */
	uint64_t reach;	    /* the highest end in the list so far */
	uint64_t limit;	    /* sure FROM: where its block or allocation ends; others: end */
	const struct krt_pattern *gaps; /* NULL: none */
	uint32_t node;
	uint8_t know;
};
struct krt_fgroup {
	struct krt_footprint *fp;
	struct krt_space *space; /* NULL: gone */
	uint64_t id;		 /* of the space */
	uint64_t addr;		 /* of an allocation in it; of an array: its handle */
	struct krt_fgroup *prev, *next;
	uint32_t at[KRT_FLISTS], count[KRT_FLISTS]; /* in fp->seg */
};
struct krt_owner_use {
	struct krt_footprint *fp;
	struct krt_owner *owner;
	struct krt_owner_use *prev, *next; /* of the owner */
	struct krt_owner_use *next_stale;  /* of the footprint */
	uint64_t from, end;		   /* addresses of the access that stands for it */
	uint32_t node;
	uint8_t know, role, kind, sure;
	bool stray, held, stale, reported;
	bool wrote; /* some node surely writes there */
};
struct krt_footprint {
	unsigned refs;
	uint32_t id;
	struct krt_exec *exec; /* NULL: replaced, or its executable is gone */
	struct krt_graph_image *image;
	struct krt_gset **set; /* of each node */
	struct krt_fseg *seg;
	struct krt_fgroup *group; /* by id of the space */
	struct krt_owner_use *use;
	uint32_t segs, segs_cap, groups, uses;
	struct krt_owner_use *stale;
	bool stack; /* a node names memory on a stack */
	bool opaque; /* what some node touches is not known */
	bool wild;   /* some node may write where nothing tells of it */
	bool foreign; /* a kernel names memory that its device had no right to when it was made */
	/* a copy to the host, of which nothing else in the graph tells the host; NULL: none */
	const struct krt_gaccess *fetch;
	/* flag words that its kernels are given, of all flags there were */
	uint64_t *flag;
	uint32_t flags, flags_cap, flags_of;
	struct krt_op_info *flight; /* the latest launch with it, NULL: none, or settled */
	struct krt_footprint *prev, *next; /* in flight */
};

/* An operation that meets the next launch, unless it is ordered by then. */
struct krt_pending {
	struct krt_op_info *op;
	uint64_t space, from, end; /* keys */
	uint64_t addr;		   /* of the memory */
	uint32_t node;
	uint16_t side; /* of a batch: which side of which copy */
	uint8_t kind, know, sure, node_know, list; /* kind 0: the allocation of the memory */
	uint8_t confidence;
};
#define KRT_PENDING_MAX 32

/*
 * What touched memory that executables name, the newest last; of operations of one
 * call site on one stream that touch the same bytes the newest alone.  A launch
 * looks at those that came since the executable's launch before.
 */
struct krt_glog {
	uint64_t key, number;
	struct krt_op_info *op;
	uint64_t space, from, end; /* keys */
	uint64_t addr;		   /* of the memory; of an array: its handle */
	struct krt_pattern pattern;
	uint16_t side; /* of a batch: which side of which copy */
	uint8_t kind, know, sure;
	UT_hash_handle hh;
};
#define KRT_GLOG_MAX	8192
#define KRT_GLOG_ROWS	64   /* of one operation; further rows are looked up at once */
#define KRT_FLYING_MAX	1024 /* footprints in flight whose executable is gone */

struct krt_ghandle {
	uint64_t node;
	uint32_t place;
};
/* Memory of a graph that a launch leaves behind, or frees for another graph. */
struct krt_gleft {
	uint64_t addr, bytes;
	bool frees;
};
/* What a launch does to an event, by however many nodes. */
struct krt_gevent {
	uint64_t event;
	bool record; /* else wait */
};
struct krt_exec {
	uint64_t handle;
	struct krt_origin made;
	struct krt_graph_image *image; /* as instantiated; NULL: not read */
	struct krt_gset **set;	       /* of each node, after updates */
	uint8_t *off;		       /* disabled nodes */
	struct krt_ghandle *index;     /* places by handle */
	struct krt_gevent *events;     /* of event nodes, each once; of now where not dirty */
	struct krt_gleft *left;
	uint32_t nevents, events_cap, nleft, left_cap;
	struct krt_footprint *fp;
	bool external; /* nodes wait, or waited, for what is not seen */
	bool signals;  /* nodes signal semaphores */
	bool dirty; /* updated: fp is rebuilt at the next launch */
	struct krt_snapshot *last; /* of the latest launch */
	uint64_t last_seq;
	uint64_t launches;
	bool unordered;		   /* nodes without a path were found */
	/* nodes that changed since its inside was judged; more than that many: all */
#define KRT_CHANGED_MAX 8
	uint32_t changed[KRT_CHANGED_MAX], nchanged;
	struct krt_inputs *inputs; /* graph_input.c */
	uint64_t seen; /* number of the latest entry of the log that it has been held against */
	struct krt_pending pend[KRT_PENDING_MAX];
	uint32_t npend;
	UT_hash_handle hh;
};

/* Where two footprints meet, by space.  Worked out once. */
struct krt_fmeet_part {
	uint8_t confidence, list[2], know[2];
	uint32_t node[2];
	uint64_t space, from, end; /* from the first to the last byte of those as sure */
};
struct krt_fmeet {
	uint64_t key; /* ids, the smaller one first */
	struct krt_fmeet_part *part;
	uint32_t n, cap;
	UT_hash_handle hh;
};
#define KRT_FMEETS_MAX 65536 /* with their parts */

struct krt_graphs {
	struct krt_owners owners;
	struct krt_gentry *nodes;
	struct krt_gtemplate *templates;
	struct krt_tree own; /* krt_gentry.own */
	struct krt_exec *execs;
	struct krt_footprint *flying, *flying_last; /* with a launch in flight, the newest first */
	uint32_t nflying;
	struct krt_glog *log;
	uint64_t logged;	/* entries ever */
	uint64_t rows, logged_op, logged_call; /* of the operation logged last */
	struct krt_fmeet *meets;
	uint32_t nmeets, footprints;
	bool memory_ended; /* some that a launch had left behind, ever */
	uint64_t steps; /* work done by launches and by operations that meet them, for tests */
};

/* --- graph_node.c: sets and the store of nodes --- */

struct krt_gset *krt_gset_ref(struct krt_gset *s);
/* The set of a node of a context as it would be made now; stream: whose declared accesses are its,
 * or NULL. */
struct krt_gset *krt_gset_new(struct krt_engine *e, const struct krt_call *c,
			      const struct krt_graph_image *g, unsigned type, uint64_t ctx,
			      const void *payload, uint32_t len, struct krt_stream_info *s);
/* A node as one side of krt_sync_confidence(). */
struct krt_op_info krt_gset_op(unsigned type, const struct krt_gset *s);
const char *krt_gset_text(const struct krt_engine *e, unsigned type, const struct krt_gset *s,
			  char *buf, size_t len);
const char *krt_gset_api(const struct krt_engine *e, unsigned type, const struct krt_gset *s,
			 char *buf, size_t len);
/* A capture that came to nothing: its nodes are no more. */
void krt_gnode_capture_end(struct krt_engine *e, const struct krt_call *c);
/* Templates: created, cloned, destroyed, nodes added, set, destroyed. */
void krt_gnode_op(struct krt_engine *e, const struct krt_call *c);
/* fn for every owner there that overlaps [from, end). */
void krt_owners_each(struct krt_owners *all, enum krt_owner_where where, uint64_t from, uint64_t end,
		     void (*fn)(void *user, struct krt_owner *o), void *user);
void krt_owner_ends(void *engine, struct krt_owner *o);
void krt_gnodes_free(struct krt_engine *e);

/* --- footprint.c --- */

/*
 * The first segment of a list that has bytes in common with p, or NULL; further ones
 * have a higher `from`.
 */
const struct krt_fseg *krt_footprint_find(struct krt_engine *e, const struct krt_fgroup *g,
					  unsigned list, const struct krt_pattern *p);
/* Of what the executable's enabled nodes touch now.  NULL: no memory. */
struct krt_footprint *krt_footprint_new(struct krt_engine *e, struct krt_exec *x);
void krt_footprint_unref(struct krt_engine *e, struct krt_footprint *f);
/* No longer that of its executable; launches in flight go on. */
void krt_footprint_retire(struct krt_engine *e, struct krt_footprint *f);
/* The launch op of it is in flight. */
void krt_footprint_fly(struct krt_engine *e, struct krt_footprint *f, struct krt_op_info *op);
/* What is live and not settled and meets it becomes pending. */
void krt_footprint_seed(struct krt_engine *e, struct krt_exec *x);
/* Everything that meets the launch op and is not ordered before it. */
void krt_footprint_judge(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op);
/* Flags that its kernels may spin on: what released them comes before the launch. */
void krt_footprint_flags(struct krt_engine *e, struct krt_footprint *f, struct krt_stream_info *s);
void krt_footprint_mark(struct krt_owner *o); /* its uses are stale */
struct krt_fgroup *krt_footprint_group(const struct krt_footprint *f, uint64_t space);
void krt_footprint_space_ends(void *engine, struct krt_space *s);
void krt_footprints_free(struct krt_engine *e);
void krt_pending_clear(struct krt_engine *e, struct krt_exec *x);

#endif
