# SPDX-License-Identifier: Apache-2.0

# --- GPU: built here, run where there is a card (testcases/gpu/run.sh) ---
ALL += $(O)/testcases/gpu-bench
$(O)/testcases/gpu-bench: testcases/gpu/bench.c interposer/cuabi.h $(O)/sim/libcuda.so
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -o $@ $< -L$(O)/sim -lcuda
