/* SPDX-License-Identifier: Apache-2.0 */
/* Linked statically: no preload reaches it. */
int main(void)
{
	return 0;
}
