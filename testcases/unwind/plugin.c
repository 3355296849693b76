/* SPDX-License-Identifier: Apache-2.0 */
/* Built with different PAD: the same addresses, another frame. */
int plugin_run(int (*leaf)(int), int arg);

__attribute__((noinline)) int plugin_run(int (*leaf)(int), int arg)
{
	volatile char frame[PAD];
	int r;

	frame[0] = 1;
	r = leaf(arg);
	return r + frame[0] - 1;
}
