# SPDX-License-Identifier: Apache-2.0
from torch._utils import CallbackRegistry

MemoryAllocationCallbacks = CallbackRegistry("CUDA memory allocation")
MemoryDeallocationCallbacks = CallbackRegistry("CUDA memory deallocation")
active = False


def fire(registry, *args):
    if active:
        globals()[registry].fire_callbacks(*args)


def register_callback_for_memory_allocation(cb):
    MemoryAllocationCallbacks.add_callback(cb)


def register_callback_for_memory_deallocation(cb):
    MemoryDeallocationCallbacks.add_callback(cb)
