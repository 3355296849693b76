# SPDX-License-Identifier: Apache-2.0
class CallbackRegistry:
    def __init__(self, name):
        self.name, self.callback_list = name, []

    def add_callback(self, cb):
        self.callback_list.append(cb)

    def fire_callbacks(self, *args):
        for cb in self.callback_list:
            cb(*args)
