/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module images through every route, on the simulated driver: images FOLDER,
 * where it may write files.  What is recorded of them is in images.txt, as
 * images_dump tells it; also (images FOLDER no_readv) where the kernel refuses
 * process_vm_readv, as some containers do.  images FOLDER huge: a text of 30 MB.
 */
#include "../common/prog.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#undef cuLinkAddData
#undef cuLinkAddFile

#define TEXT(name)                                                                    \
	".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry " name "(.param .u64 p)\n" \
	"{\n\tret;\n}\n"

static const char in_rodata[] = TEXT("in_rodata");
static char in_data[] = TEXT("in_data");

/* A fatbin container with one entry, and room for none but the text. */
struct container {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;
	uint16_t kind, entry_version;
	uint32_t entry_header;
	uint64_t payload;
	uint32_t compressed, options;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_length;
	uint64_t flags, reserved, uncompressed;
	char text[160];
};
#define CONTAINER(words)                                                                          \
	{ .magic = 0xba55ed50, .version = 1, .header = 16, .size = 64 + 160, .kind = 1,           \
	  .entry_version = 0x0101, .entry_header = 64, .payload = 160, .major = 7, .arch = 70,    \
	  .flags = 0x11, .text = words }

static const struct container fat = CONTAINER(TEXT("fat"));
static const struct container linked_1 = CONTAINER(TEXT("linked_1"));
static struct container linked_2 = CONTAINER(TEXT("linked_2"));
static const struct container *const linked[] = { &linked_1, &linked_2, NULL };

struct wrapper {
	uint32_t magic, version;
	const void *container, *more;
};
static const struct wrapper old = { 0x466243b1, 1, &fat, "fat.cu" };
static const struct wrapper new = { 0x466243b1, 2, &fat, linked };

static void part(const char *name)
{
	static const char c[1];

	krtsan_name(c, 0, name);
}

static char *copy(const char *text)
{
	char *p = malloc(strlen(text) + 1);

	return strcpy(p, text);
}

static void file(const char *name, const char *text, size_t pad)
{
	FILE *f = fopen(name, "w");

	MUST(f && fwrite(text, 1, strlen(text), f) == strlen(text));
	for (size_t i = 0; i < pad; i++)
		MUST(fputc('\n', f) != EOF);
	MUST(!fclose(f));
}

/* ELF headers that promise what is not there: refused, and told so, not followed. */
static void headers(void)
{
	static const uint64_t offsets[] = { 0, 64, 4096 - 64, 4096, 1 << 20, 1ull << 39, UINT64_MAX - 63, UINT64_MAX };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUmodule m;

	MUST(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_NONE));
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		for (unsigned n = 0; n < 4; n++) {
			static const uint16_t counts[] = { 0, 1, 2, 65535 };

			memset(page, 0, 4096);
			memcpy(page, "\177ELF\2\1\1", 7);
			memcpy(page + 18, &(uint16_t){ 190 }, 2);
			memcpy(page + 40, &offsets[i], 8);
			memcpy(page + 58, &(uint16_t){ 64 }, 2);
			memcpy(page + 60, &counts[n], 2);
			MUST(cuModuleLoadData(&m, page) != CUDA_SUCCESS);
		}
	memset(page, 0, 4096);
	memcpy(page, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76", 19);
	MUST(cuModuleLoadData(&m, page) != CUDA_SUCCESS); /* of a processor */
	/* a header cut by the end of memory */
	memcpy(page + 4096 - 16, "\177ELF\2\1\1", 8);
	MUST(cuModuleLoadData(&m, page + 4096 - 16) != CUDA_SUCCESS);
	memcpy(page + 4096 - 16, &fat, 8);
	memset(page + 4096 - 8, 0xff, 8);
	MUST(cuModuleLoadData(&m, page + 4096 - 16) != CUDA_SUCCESS);
	MUST(cuModuleLoadData(&m, "\177none") != CUDA_SUCCESS);
	MUST(cuModuleLoadData(&m, NULL) != CUDA_SUCCESS);
}

static void link_all(void)
{
	CUlinkState s;
	CUmodule m;
	void *cubin;
	size_t size;
	char *text = copy(TEXT("linked_text"));

	CU(cuLinkCreate(0, NULL, NULL, &s));
	CU(cuLinkAddData_v2(s, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "text", 0, NULL, NULL));
	CU(cuLinkAddFile_v2(s, CU_JIT_INPUT_PTX, "small.ptx", 0, NULL, NULL));
	CU(cuLinkComplete(s, &cubin, &size));
	CU(cuModuleLoadData(&m, cubin));
	CU(cuLinkDestroy(s));
	CU(cuModuleUnload(m));
	free(text);
}

static void refuse_readv(void)
{
	struct sock_filter rule[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog refuse = { sizeof(rule) / sizeof(*rule), rule };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &refuse))
		fprintf(stderr, "sim: no seccomp here\n"); /* then nothing is refused */
}

static void huge(void)
{
	size_t n = 30 << 20;
	char *p = malloc(n + 1);
	CUmodule m;

	memset(p, '\n', n);
	p[n] = 0;
	memcpy(p + n - strlen(TEXT("huge")), TEXT("huge"), strlen(TEXT("huge")));
	part("huge");
	CU(cuModuleLoadData(&m, p));
	free(p);
}

int main(int argc, char **argv)
{
	char *a, *b, *mapped;
	CUlibrary l;
	CUmodule m;

	if (argc < 2 || chdir(argv[1]))
		return 2;
	prog_start();
	if (argc > 2 && !strcmp(argv[2], "huge")) {
		huge();
		return 0;
	}
	if (argc > 2)
		refuse_readv();
	part("memory");
	CU(cuModuleLoadData(&m, in_rodata));
	CU(cuModuleUnload(m));
	CU(cuModuleLoadData(&m, in_data));
	a = copy(in_rodata);
	b = copy(in_rodata);
	CU(cuModuleLoadData(&m, a));
	free(a);
	CU(cuModuleLoadDataEx(&m, b, 0, NULL, NULL));
	CU(cuLibraryLoadData(&l, b, NULL, NULL, 0, NULL, NULL, 0));
	/* the text ends where its mapping does */
	mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(mapped != MAP_FAILED && !mprotect(mapped + 4096, 4096, PROT_NONE));
	CU(cuModuleLoadData(&m, strcpy(mapped + 4096 - sizeof TEXT("edge"), TEXT("edge"))));

	part("fat binaries");
	CU(cuModuleLoadData(&m, &fat));
	CU(cuModuleLoadFatBinary(&m, &old));
	CU(cuModuleLoadFatBinary(&m, &new));
	CU(cuLibraryLoadData(&l, &new, NULL, NULL, 0, NULL, NULL, 0));

	part("files");
	file("small.ptx", TEXT("small"), 0);
	file("large.ptx", TEXT("large"), 2 << 20);
	CU(cuModuleLoad(&m, "small.ptx"));
	CU(cuModuleLoad(&m, "./small.ptx"));
	CU(cuModuleLoad(&m, "large.ptx"));
	CU(cuLibraryLoadFromFile(&l, "large.ptx", NULL, NULL, 0, NULL, NULL, 0));
	for (int prot = PROT_READ; prot <= (PROT_READ | PROT_WRITE); prot += PROT_WRITE) {
		int fd = open("large.ptx", O_RDONLY);

		mapped = mmap(NULL, 3 << 20, prot, MAP_PRIVATE, fd, 0);
		MUST(fd >= 0 && mapped != MAP_FAILED && !close(fd));
		CU(cuModuleLoadData(&m, mapped));
	}
	mapped = mmap(NULL, 3 << 20, PROT_READ, MAP_PRIVATE, open("small.ptx", O_RDONLY), 0);
	MUST(mapped != MAP_FAILED);
	CU(cuModuleLoadData(&m, mapped)); /* too small to look for its file */
	MUST(cuModuleLoad(&m, "none.ptx") != CUDA_SUCCESS);
	MUST(cuModuleLoad(&m, "/dev/null") != CUDA_SUCCESS);

	part("linker");
	link_all();

	part("what is none");
	if (argc == 2) /* the other way of reading does not mind a page's protection */
		headers();
	return 0;
}
