/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that never ends and an index outside: lint.sh wants both to be seen.
 */
int planted(int n);

int planted(int n)
{
	int a[4] = {0}, i = 0;

	while (i < n)
		a[3] = n;
	return a[4];
}
