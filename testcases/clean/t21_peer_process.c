/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another process writes into our exported buffer after a handshake that CUDA does
 * not see; each process waits for its own work before it hands over.
 * SOURCE: trap T21
 * MAY-SKIP: needs IPC memory handles
 * UNSTABLE: two processes
 */
#include "prog.h"

#include <sys/wait.h>

enum { N = 1024 };

struct channel {
	int to[2], from[2];
};

static void tell(int fd, const void *p, size_t n)
{
	MUST(write(fd, p, n) == (ssize_t)n);
}

static void hear(int fd, void *p, size_t n)
{
	for (ssize_t r; n; n -= (size_t)r, p = (char *)p + r)
		MUST((r = read(fd, p, n)) > 0);
}

/* The peer: waits for a handle, adds to the buffer, says so. */
static int peer(struct channel *c)
{
	CUipcMemHandle handle;
	CUdeviceptr d;
	CUstream s;
	CUresult r;
	char word = 0;

	hear(c->to[0], &word, 1);
	if (word != 'g')
		return 0;
	hear(c->to[0], &handle, sizeof(handle));
	prog_start();
	s = stream_nb("peer");
	r = cuIpcOpenMemHandle(&d, handle, 1);
	word = r == CUDA_SUCCESS ? 'y' : 'n';
	if (r == CUDA_SUCCESS) {
		UPDATES(s, d, 4 * N);
		INC(s, d, 1, N, 20000);
		CU(cuStreamSynchronize(s));
		CU(cuIpcCloseMemHandle(d));
	}
	tell(c->from[1], &word, 1);
	prog_end();
	return 0;
}

int main(void)
{
	struct channel c;
	CUipcMemHandle handle;
	CUdeviceptr d;
	CUstream s;
	CUresult r;
	pid_t pid;
	char word;
	int status;

	MUST(!pipe(c.to) && !pipe(c.from));
	pid = fork();
	MUST(pid >= 0);
	if (!pid)
		return peer(&c);

	prog_start();
	s = stream_nb("owner");
	d = device_u32("shared", N);
	set_now(d, 1, N);
	UPDATES(s, d, 4 * N);
	INC(s, d, 1, N, 20000);
	CU(cuStreamSynchronize(s));
	r = cuIpcGetMemHandle(&handle, d);
	tell(c.to[1], r == CUDA_SUCCESS ? "g" : "x", 1);
	if (r == CUDA_SUCCESS) {
		tell(c.to[1], &handle, sizeof(handle));
		hear(c.from[0], &word, 1);
		if (word != 'y')
			r = CUDA_ERROR_NOT_SUPPORTED;
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	if (r != CUDA_SUCCESS)
		prog_skip("no IPC memory handles");
	UPDATES(s, d, 4 * N);
	INC(s, d, 1, N, 0);
	check_u32("shared[0]", get_u32(d, 0), 4);
	CU(cuMemFree(d));
	prog_end();
	return 0;
}
