/* SPDX-License-Identifier: Apache-2.0 */
/* The map of loaded objects and their records. */
#include <criterion/criterion.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modules.h"
#include "next.h"
#include "stub.h"
#include "unwinder.h"

static const struct {
	const char *path;
	enum krt_module_role role;
} names[] = {
	{ "/usr/lib/x86_64-linux-gnu/libcuda.so.1", KRT_MODULE_DRIVER },
	{ "libcuda.so", KRT_MODULE_DRIVER },
	{ "/usr/lib/libcuda.so.580.95.05", KRT_MODULE_DRIVER },
	{ "/usr/lib/libnvidia-ptxjitcompiler.so.580.95.05", KRT_MODULE_DRIVER },
	{ "/opt/libcudart.so.13", KRT_MODULE_CUDA },
	{ "/wheel/torch.libs/libcudart-d0da41ae.so.11.0", KRT_MODULE_CUDA },
	{ "libcublas.so.12", KRT_MODULE_CUDA },
	{ "libcublasLt.so.12", KRT_MODULE_CUDA },
	{ "libcudnn.so.9", KRT_MODULE_CUDA },
	{ "libcudnn_ops_infer.so.8", KRT_MODULE_CUDA },
	{ "libcudnn_engines_precompiled.so.9", KRT_MODULE_CUDA },
	{ "libcufft.so.11", KRT_MODULE_CUDA },
	{ "libcufftw.so.11", KRT_MODULE_CUDA },
	{ "libcurand.so.10", KRT_MODULE_CUDA },
	{ "libcusolver.so.11", KRT_MODULE_CUDA },
	{ "libcusparse.so.12", KRT_MODULE_CUDA },
	{ "libcusparseLt.so.0", KRT_MODULE_CUDA },
	{ "libnccl.so.2", KRT_MODULE_CUDA },
	{ "libnvrtc.so.12", KRT_MODULE_CUDA },
	{ "libnvrtc-builtins.so.12.4", KRT_MODULE_CUDA },
	{ "libnvJitLink.so.12", KRT_MODULE_CUDA },
	{ "libcupti.so.12", KRT_MODULE_CUDA },
	{ "libnvToolsExt.so.1", KRT_MODULE_CUDA },
	{ "libnvjpeg.so.12", KRT_MODULE_CUDA },
	{ "libnvshmem_host.so.3", KRT_MODULE_CUDA },
	{ "libnppial.so.12", KRT_MODULE_CUDA },
	{ "/opt/app/libcudamodel.so", KRT_MODULE_USER },
	{ "/opt/app/libcuda_kernels.so", KRT_MODULE_USER },
	{ "/opt/app/libcuda-helper.so.1", KRT_MODULE_USER },
	{ "/opt/app/libncclient.so", KRT_MODULE_USER },
	{ "/opt/app/libtorch_cuda.so", KRT_MODULE_USER },
	{ "/opt/libcuda.so.1/plugin.so", KRT_MODULE_USER },
	{ "/opt/app/myapp", KRT_MODULE_USER },
	{ "", KRT_MODULE_USER },
};

Test(modules, roles)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert_eq(krt_module_role_of(names[i].path, strlen(names[i].path)), names[i].role, "%s",
			     names[i].path);
}

static unsigned count_records(const char *end_of_path)
{
	unsigned n = 0;

	for (size_t at = 0; at < stub_lane0_len;) {
		const struct krt_rec_module *r = (const void *)(stub_lane0 + at);
		size_t len = strlen(end_of_path);

		cr_assert_eq(r->h.kind, KRT_REC_MODULE);
		cr_assert_eq(r->h.size % 8, 0);
		if (r->path_len >= len && memcmp(r->path + r->path_len - len, end_of_path, len) == 0)
			n++;
		at += r->h.size;
	}
	return n;
}

static const struct krt_rec_module *last_record(const char *end_of_path)
{
	const struct krt_rec_module *found = NULL;

	for (size_t at = 0; at < stub_lane0_len;) {
		const struct krt_rec_module *r = (const void *)(stub_lane0 + at);
		size_t len = strlen(end_of_path);

		if (r->path_len >= len && memcmp(r->path + r->path_len - len, end_of_path, len) == 0)
			found = r;
		at += r->h.size;
	}
	return found;
}

static int each(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned *n = arg;
	const struct krt_module *m;

	(void)size;
	(*n)++;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_R) || !p->p_memsz)
			continue;
		m = krt_module_at(info->dlpi_addr + p->p_vaddr);
		cr_assert_not_null(m, "%s", info->dlpi_name);
		cr_assert_eq(m->bias, info->dlpi_addr);
		cr_assert_eq(krt_module_code(m, info->dlpi_addr + p->p_vaddr), !!(p->p_flags & PF_X));
		cr_assert(krt_module_has(m, info->dlpi_addr + p->p_vaddr, p->p_memsz));
		cr_assert(!krt_module_has(m, info->dlpi_addr + p->p_vaddr, p->p_memsz + 1));
	}
	return 0;
}

Test(modules, every_object_once)
{
	unsigned n = 0;
	size_t len;
	char exe[4096] = "";

	krt_modules_refresh();
	dl_iterate_phdr(each, &n);
	cr_assert_gt(n, 3);
	cr_assert_eq(count_records(""), n);
	len = stub_lane0_len;
	krt_modules_refresh();
	cr_assert_eq(stub_lane0_len, len, "nothing new, nothing written");

	cr_assert_gt(readlink("/proc/self/exe", exe, sizeof(exe) - 1), 0);
	cr_assert_eq(count_records(exe), 1);
	cr_assert_eq(last_record(exe)->role, KRT_MODULE_EXE);
	cr_assert_eq(last_record("/libc.so.6")->role, KRT_MODULE_USER);
	cr_assert_eq(last_record("/libc.so.6")->build_id_len, 20);
	cr_assert_eq(krt_module_self()->role, KRT_MODULE_EXE);
}

Test(modules, nobodys_addresses)
{
	char on_stack;
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	krt_modules_refresh();
	cr_assert_null(krt_module_at((uintptr_t)&on_stack));
	cr_assert_null(krt_module_at((uintptr_t)p));
	cr_assert_null(krt_module_at(0));
	cr_assert_null(krt_module_at(UINTPTR_MAX));
}

Test(modules, written_when_recording_begins)
{
	stub_attach(false);
	krt_modules_refresh();
	cr_assert_eq(stub_lane0_len, 0);
	cr_assert_not_null(krt_module_at((uintptr_t)&strtol));
	stub_attach(true);
	krt_modules_refresh();
	cr_assert_eq(count_records("/libc.so.6"), 1);
}

static void *open_plugin(const char *name, uintptr_t *at)
{
	char path[4096];
	void *h;

	snprintf(path, sizeof(path), "%s/%s", PLUGIN_DIR, name);
	h = dlopen(path, RTLD_NOW);
	cr_assert_not_null(h, "%s", dlerror());
	*at = (uintptr_t)dlsym(h, "plugin_run");
	return h;
}

Test(modules, unloaded_and_replaced)
{
	uintptr_t a, b, c;
	unsigned gen;
	void *h;

	krt_modules_refresh();
	gen = krt_modules_generation();
	h = open_plugin("plug1.so", &a);
	cr_assert_null(krt_module_at(a));
	krt_modules_refresh();
	cr_assert_not_null(krt_module_at(a));
	cr_assert_eq(count_records("/plug1.so"), 1);
	dlclose(h);
	cr_assert(krt_modules_doubtful());
	krt_modules_refresh();
	cr_assert(!krt_modules_doubtful());
	cr_assert_null(krt_module_at(a));
	cr_assert_eq(krt_modules_generation(), gen);

	/* back, unchanged */
	h = open_plugin("plug1.so", &b);
	cr_assert_eq(a, b, "the loader gave another address: this test needs the same");
	krt_modules_refresh();
	cr_assert_not_null(krt_module_at(a));
	cr_assert_eq(count_records("/plug1.so"), 1);
	cr_assert_eq(krt_modules_generation(), gen);
	dlclose(h);

	/* another one in its place, with no refresh in between */
	h = open_plugin("plug2.so", &c);
	cr_assert_eq(a, c);
	krt_modules_refresh();
	cr_assert_eq(count_records("/plug2.so"), 1);
	cr_assert_eq(krt_modules_generation(), gen + 1);
	dlclose(h);

	/* the first again: readers must learn of it anew */
	h = open_plugin("plug1.so", &c);
	cr_assert_eq(a, c);
	krt_modules_refresh();
	cr_assert_eq(count_records("/plug1.so"), 2);
	cr_assert_eq(krt_modules_generation(), gen + 2);
	dlclose(h);
}

/* Without a build-id nothing tells an object from its successor: it counts as new. */
Test(modules, no_build_id)
{
	uintptr_t a, b;
	unsigned gen;
	void *h = open_plugin("plain1.so", &a);

	krt_modules_refresh();
	gen = krt_modules_generation();
	cr_assert_eq(last_record("/plain1.so")->build_id_len, 0);
	dlclose(h);
	h = open_plugin("plain1.so", &b);
	cr_assert_eq(a, b);
	krt_modules_refresh();
	cr_assert_eq(count_records("/plain1.so"), 2);
	cr_assert_gt(krt_modules_generation(), gen);
	dlclose(h);
	h = open_plugin("plain2.so", &b);
	cr_assert_eq(a, b);
	krt_modules_refresh();
	cr_assert_eq(count_records("/plain2.so"), 1);
	dlclose(h);
}

Test(modules, relative_names_become_absolute)
{
	void *h;

	cr_assert_eq(chdir(PLUGIN_DIR), 0);
	h = dlopen("./plug3.so", RTLD_NOW);
	cr_assert_not_null(h);
	krt_modules_refresh();
	cr_assert_not_null(last_record("/plug3.so"));
	cr_assert_eq(last_record("/plug3.so")->path[0], '/');
	cr_assert_eq(count_records("/./plug3.so"), 0);
	dlclose(h);
}

Test(modules, next_definition)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	const void *a, *b;

	cr_assert_eq(krt_next("realloc"), dlsym(libc, "realloc"));
	cr_assert_eq(krt_next("munmap"), dlsym(libc, "munmap"));
	cr_assert_eq(krt_next("dlclose"), dlsym(libc, "dlclose"));
	cr_assert_neq(krt_next("dlclose"), (void *)&dlclose, "our own is not the next one");
	cr_assert_neq(krt_next_in("malloc_usable_size", &a), NULL);
	cr_assert_neq(krt_next_in("free", &b), NULL);
	cr_assert_eq(a, b);
	cr_assert_null(krt_next("no_such_function_anywhere"));
	dlclose(libc);
}

Test(modules, fork_child_writes_anew)
{
	int status;
	pid_t pid;

	krt_modules_refresh();
	pid = fork();
	if (pid == 0) {
		stub_lane0_len = 0;
		krt_modules_forked();
		krt_modules_refresh();
		_exit(count_records("/libc.so.6") != 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

Test(modules, dlclose_is_the_program_s)
{
	uintptr_t a;
	void *h = open_plugin("plug4.so", &a);

	cr_assert_eq(dlclose(h), 0);
	cr_assert_neq(dlclose((void *)stub_lane0), 0);
	cr_assert_not_null(dlerror());
}
