# SPDX-License-Identifier: Apache-2.0
"""PyTorch operators one by one, each inside an NVTX range of its name, with the
tensors it is given and gives back printed (address and bytes): what a kernels
file says of their kernels is held against this."""
import json
import sys
import torch
import torch.nn.functional as F

torch.manual_seed(1)
dev = "cuda"
out = open(sys.argv[1], "w") if len(sys.argv) > 1 else sys.stdout


def flat(x):
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for y in x for t in flat(y)]
    return []


def say(name, sort, tensors):
    for i, t in enumerate(flat(tensors)):
        if t.is_cuda:
            s = t.untyped_storage()
            print(json.dumps({"op": name, "sort": sort, "i": i, "ptr": t.data_ptr(),
                              "bytes": t.numel() * t.element_size(), "dtype": str(t.dtype),
                              "shape": list(t.shape), "stride": list(t.stride()),
                              "storage": [s.data_ptr(), s.nbytes()]}), file=out)


def op(name, fn, *args, **kw):
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(name)
    try:
        r = fn(*args, **kw)
    except Exception as e:
        r = None
        print(json.dumps({"op": name, "error": str(e)[:200]}), file=out)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    say(name, "in", list(args) + list(kw.values()))
    say(name, "out", r)
    return r


def grad(name, fn, *args):
    """forward and backward"""
    xs = [a.detach().requires_grad_(a.is_floating_point()) if isinstance(a, torch.Tensor) else a
          for a in args]
    y = op(name, fn, *xs)
    if y is None:
        return
    y = y[0] if isinstance(y, tuple) else y
    g = torch.randn_like(y)
    say(name + "_bwd", "grad", [g])
    fl = [x for x in xs if isinstance(x, torch.Tensor) and x.requires_grad]
    op(name + "_bwd", lambda: torch.autograd.grad(y, fl, g))


def r(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=dev).to(dtype)


for dt, n in ((torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.float16, "f16")):
    a, b = r(1000, 1003, dtype=dt), r(1000, 1003, dtype=dt)
    c = r(1003, dtype=dt)
    op(n + "_add", torch.add, a, b)
    op(n + "_add_scalar", torch.add, a, 2.0)
    op(n + "_add_", lambda x, y: x.add_(y), a.clone(), b)
    op(n + "_add_bcast", torch.add, a, c)
    op(n + "_mul", torch.mul, a, b)
    op(n + "_mul_scalar", torch.mul, a, 3.0)
    op(n + "_div", torch.div, a, b)
    op(n + "_sub", torch.sub, a, b)
    op(n + "_relu", torch.relu, a)
    op(n + "_exp", torch.exp, a)
    op(n + "_sqrt", torch.sqrt, a.abs())
    op(n + "_rsqrt", torch.rsqrt, a.abs())
    op(n + "_neg", torch.neg, a)
    op(n + "_pow", torch.pow, a, 2)
    op(n + "_clamp", torch.clamp, a, -1, 1)
    op(n + "_where", torch.where, a > 0, a, b)
    op(n + "_gt", torch.gt, a, b)
    op(n + "_masked_fill", torch.masked_fill, a, a > 0, 1.0)
    op(n + "_addcmul", torch.addcmul, a, b, b)
    op(n + "_lerp", torch.lerp, a, b, 0.3)
    op(n + "_fill", lambda x: x.fill_(3), a.clone())
    op(n + "_zero", lambda x: x.zero_(), a.clone())
    op(n + "_zeros", lambda: torch.zeros(1000, 1003, device=dev, dtype=dt))
    op(n + "_ones", lambda: torch.ones(1000, 1003, device=dev, dtype=dt))
    op(n + "_tofloat", lambda x: x.to(torch.float32), a)
    op(n + "_tobf16", lambda x: x.to(torch.bfloat16), a)
    op(n + "_transpose_copy", lambda x: x.t().contiguous(), a)
    op(n + "_clone", torch.clone, a)
    op(n + "_strided_add", lambda x, y: x[:, ::2] + y[:, ::2], a, b)
    op(n + "_copy_strided", lambda x, y: x[:, :500].copy_(y[:, :500]), a.clone(), b)
    op(n + "_sum", torch.sum, a)
    op(n + "_sum0", torch.sum, a, 0)
    op(n + "_sum1", torch.sum, a, 1)
    op(n + "_mean1", torch.mean, a, 1)
    op(n + "_max", torch.max, a)
    op(n + "_max1", torch.max, a, 1)
    op(n + "_argmax", torch.argmax, a, 1)
    op(n + "_norm", torch.linalg.vector_norm, a)
    op(n + "_var", torch.var, a, 1)
    op(n + "_std_mean", torch.std_mean, a, 0)
    grad(n + "_gelu", F.gelu, a)
    grad(n + "_gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), a)
    grad(n + "_silu", F.silu, a)
    grad(n + "_sigmoid", torch.sigmoid, a)
    grad(n + "_tanh", torch.tanh, a)
    grad(n + "_relu_g", torch.relu, a)
    grad(n + "_dropout", lambda x: F.dropout(x, 0.5), a)
    grad(n + "_softmax", lambda x: F.softmax(x, -1), a)
    grad(n + "_softmax0", lambda x: F.softmax(x, 0), a)
    grad(n + "_log_softmax", lambda x: F.log_softmax(x, -1), a)
    grad(n + "_softmax_small", lambda x: F.softmax(x, -1), r(500, 128, dtype=dt))
    grad(n + "_log_softmax_10", lambda x: F.log_softmax(x, -1), r(256, 10, dtype=dt))
    grad(n + "_softmax_big", lambda x: F.softmax(x, -1), r(16, 50257, dtype=dt))
    w, bb = r(1024, dtype=dt), r(1024, dtype=dt)
    grad(n + "_layer_norm", lambda x, w, b: F.layer_norm(x, (1024,), w, b), r(256, 1024, dtype=dt), w, bb)
    w3, b3 = r(1003, dtype=dt), r(1003, dtype=dt)
    grad(n + "_layer_norm_odd", lambda x, w, b: F.layer_norm(x, (1003,), w, b), a, w3, b3)
    grad(n + "_rms_norm", lambda x, w: F.rms_norm(x, (1024,), w), r(256, 1024, dtype=dt), w)
    grad(n + "_group_norm", lambda x, w, b: F.group_norm(x, 8, w, b), r(8, 64, 16, 16, dtype=dt), r(64, dtype=dt), r(64, dtype=dt))
    grad(n + "_batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), r(8, 64, 16, 16, dtype=dt), r(64, dtype=dt), r(64, dtype=dt))
    idx = torch.randint(0, 1000, (64, 32), device=dev)
    grad(n + "_embedding", lambda w: F.embedding(idx, w), r(1000, 256, dtype=dt))
    op(n + "_index", lambda x: x[torch.randint(0, 1000, (77,), device=dev)], a)
    op(n + "_index_select", torch.index_select, a, 0, idx.flatten()[:77])
    op(n + "_gather", torch.gather, a, 1, torch.randint(0, 1000, (1000, 5), device=dev))
    op(n + "_scatter_add", lambda x, i, s: x.scatter_add_(1, i, s), a.clone(), torch.randint(0, 1000, (1000, 5), device=dev), r(1000, 5, dtype=dt))
    op(n + "_index_put", lambda x, i, v: x.index_put_((i,), v), a.clone(), torch.arange(7, device=dev), r(7, 1003, dtype=dt))
    op(n + "_index_add", lambda x, i, v: x.index_add_(0, i, v), a.clone(), torch.arange(7, device=dev), r(7, 1003, dtype=dt))
    op(n + "_cat0", torch.cat, [a, b])
    op(n + "_cat1", lambda x, y: torch.cat([x, y], 1), a, b)
    op(n + "_stack", torch.stack, [a, b])
    op(n + "_split_cat", lambda x: torch.cat(x.split(100, 1)[:4], 1), a)
    op(n + "_tril", torch.tril, a)
    op(n + "_cumsum", torch.cumsum, a, 1)
    op(n + "_sort", torch.sort, a[0].clone())
    op(n + "_topk", torch.topk, a, 5)
    op(n + "_randn", lambda: torch.randn(1000, 1003, device=dev, dtype=dt))
    op(n + "_rand", lambda: torch.rand(1000, 1003, device=dev, dtype=dt))
    op(n + "_bernoulli", lambda x: x.bernoulli_(0.5), a.clone())
    op(n + "_matmul", torch.matmul, r(512, 256, dtype=dt), r(256, 384, dtype=dt))
    op(n + "_bmm", torch.bmm, r(8, 512, 64, dtype=dt), r(8, 64, 384, dtype=dt))
    grad(n + "_linear", lambda x, w, b: F.linear(x, w, b), r(256, 512, dtype=dt), r(1024, 512, dtype=dt), r(1024, dtype=dt))
    op(n + "_addmm_gelu", lambda x, w, b: torch._addmm_activation(b, x, w.t(), use_gelu=True), r(256, 512, dtype=dt), r(1024, 512, dtype=dt), r(1024, dtype=dt))
    grad(n + "_conv", lambda x, w, b: F.conv2d(x, w, b, padding=1), r(8, 16, 32, 32, dtype=dt), r(32, 16, 3, 3, dtype=dt), r(32, dtype=dt))
    grad(n + "_maxpool", lambda x: F.max_pool2d(x, 2), r(8, 16, 32, 32, dtype=dt))
    grad(n + "_avgpool", lambda x: F.adaptive_avg_pool2d(x, 1), r(8, 16, 32, 32, dtype=dt))
    grad(n + "_interp", lambda x: F.interpolate(x, scale_factor=2), r(8, 16, 32, 32, dtype=dt))
    t = torch.randint(0, 10, (256,), device=dev)
    grad(n + "_xent", lambda x: F.cross_entropy(x, t), r(256, 10, dtype=dt))
    grad(n + "_mse", lambda x, y: F.mse_loss(x, y), a, b)
    q, k, v = (r(2, 8, 128, 64, dtype=dt) for _ in range(3))
    grad(n + "_sdpa", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
    ps = [r(64, 64, dtype=torch.float32).requires_grad_() for _ in range(3)] + [r(1000, dtype=torch.float32).requires_grad_()]
    for p in ps:
        p.grad = torch.randn_like(p)
    if dt is torch.float32:
        for cls, kw in (("SGD", {"lr": 1e-3, "momentum": .9}), ("Adam", {}), ("AdamW", {}),
                        ("AdamW_fused", {"fused": True}), ("SGD_plain", {"lr": 1e-3}),
                        ("AdamW_single", {"foreach": False}), ("Adagrad", {}), ("RMSprop", {})):
            o = getattr(torch.optim, cls.split("_")[0])(ps, **kw)
            o.step()
            say("opt_" + cls, "param", ps)
            say("opt_" + cls, "grad", [p.grad for p in ps])
            op("opt_" + cls, lambda: o.step())
            for p in ps:
                for kk, s in o.state[p].items():
                    say("opt_" + cls, "state_" + kk, s)
        op("clip_grad", lambda: torch.nn.utils.clip_grad_norm_(ps, 1.0))
        op("zero_grad", lambda: torch._foreach_zero_([p.grad for p in ps]))
        sc = torch.amp.GradScaler()
        l = sc.scale(sum((p * p).sum() for p in ps))
        l.backward()
        o = torch.optim.SGD(ps, lr=.1)
        op("scaler_step", lambda: (sc.step(o), sc.update()))
        op("f_add", lambda: torch._foreach_add([p.detach() for p in ps], 1.0))
        op("f_mul_list", lambda: torch._foreach_mul([p.detach() for p in ps], [p.grad for p in ps]))
        op("f_copy", lambda: torch._foreach_copy_([p.detach().clone() for p in ps], [p.grad for p in ps]))
op("arange", lambda: torch.arange(1000, device=dev))
op("randint", lambda: torch.randint(0, 9, (1000,), device=dev))
op("randperm", lambda: torch.randperm(1000, device=dev))
op("nonzero", torch.nonzero, r(1000) > 0)
op("unique", torch.unique, torch.randint(0, 9, (1000,), device=dev))
op("isfinite", torch.isfinite, r(1000))
op("any", torch.any, r(1000) > 0)
op("eq_long", torch.eq, torch.arange(100, device=dev), torch.arange(100, device=dev))
op("int_add", torch.add, torch.arange(100, device=dev), 1)
op("bool_and", torch.logical_and, r(1000) > 0, r(1000) > 0)
op("one_hot", lambda: F.one_hot(torch.arange(9, device=dev), 10))
op("lstm", torch.nn.LSTM(64, 64).to(dev), r(8, 4, 64))

# Shapes that take other ways through the same kernels: strides, conversions, blocks that share an
# output, lists of more tensors than one launch takes, sizes that are no multiple of anything.
for dt, n in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
    a, b = r(37, 53, 11, dtype=dt), r(37, 53, 11, dtype=dt)
    op(n + "_permuted_add", lambda x, y: x.permute(2, 0, 1) + y.permute(2, 0, 1), a, b)
    op(n + "_mixed_strides", lambda x, y: x[::2, :, ::3] * y[::2, :, ::3], a, b)
    op(n + "_row_and_column", lambda x, y: x + y, r(301, 1, dtype=dt), r(1, 77, dtype=dt))
    op(n + "_cast_strided", lambda x: x.permute(2, 0, 1).to(torch.float64).contiguous(), a)
    op(n + "_mixed_types", lambda x, y: x + y, a, r(37, 53, 11, dtype=torch.float32))
    op(n + "_to_int", lambda x: x.to(torch.int32), a)
    op(n + "_copy_into_slice_", lambda x, y: x[5:20, 1::2].copy_(y[5:20, 1::2]), a.clone(), b)
    op(n + "_add_slice_", lambda x: x[:, 3:9, ::2].add_(1), a.clone())
    op(n + "_one_element", torch.add, r(1, dtype=dt), r(1, dtype=dt))
    op(n + "_unaligned", lambda x: x[1:] + x[:-1], r(100001, dtype=dt))
    op(n + "_sum_all_large", torch.sum, r(3000, 5001, dtype=dt))
    op(n + "_sum_rows_few", lambda x: x.sum(1), r(3, 200003, dtype=dt))
    op(n + "_sum_columns_few", lambda x: x.sum(0), r(200003, 3, dtype=dt))
    op(n + "_sum_middle", lambda x: x.sum(1), r(64, 129, 65, dtype=dt))
    op(n + "_sum_outer", lambda x: x.sum((0, 2)), r(33, 129, 65, dtype=dt))
    op(n + "_sum_strided", lambda x: x[:, ::2].sum(1), r(500, 1001, dtype=dt))
    op(n + "_sum_keepdim_transposed", lambda x: x.t().sum(0, keepdim=True), r(500, 1001, dtype=dt))
    op(n + "_mean_channels_last", lambda x: x.mean((2, 3)),
       r(8, 16, 33, 33, dtype=dt).to(memory_format=torch.channels_last))
    op(n + "_amax", lambda x: x.amax(0), r(777, 333, dtype=dt))
    op(n + "_aminmax", lambda x: torch.aminmax(x, dim=1), r(777, 333, dtype=dt))
    op(n + "_argmin", lambda x: x.argmin(0), r(777, 333, dtype=dt))
    op(n + "_all", lambda x: (x > 0).all(1), r(777, 333, dtype=dt))
    op(n + "_var_mean", lambda x: torch.var_mean(x, 0), r(777, 333, dtype=dt))
    op(n + "_prod", lambda x: x.prod(1), r(77, 333, dtype=dt))
    op(n + "_cat_three", lambda x, y, z: torch.cat([x, y, z], 1), r(17, 5, 8, dtype=dt),
       r(17, 3, 8, dtype=dt), r(17, 1, 8, dtype=dt))
    op(n + "_cat_odd", lambda x, y: torch.cat([x, y], 0), r(17, 5, dtype=dt), r(3, 5, dtype=dt))
    op(n + "_cat_channels_last", lambda x, y: torch.cat([x, y], 1),
       r(4, 8, 9, 9, dtype=dt).to(memory_format=torch.channels_last),
       r(4, 5, 9, 9, dtype=dt).to(memory_format=torch.channels_last))
    op(n + "_cat_strided", lambda x, y: torch.cat([x.t(), y.t()], 0), r(31, 17, dtype=dt),
       r(31, 19, dtype=dt))
    op(n + "_cat_many", lambda x: torch.cat([x] * 150, 0), r(7, 13, dtype=dt))
    op(n + "_stack_scalars", lambda x: torch.stack(list(x.unbind(0))), r(40, dtype=dt))
    i0, i1 = torch.randint(0, 37, (9,), device=dev), torch.randint(0, 53, (9,), device=dev)
    op(n + "_index_two", lambda x: x[i0, i1], a)
    op(n + "_index_apart", lambda x: x[i0, :, torch.randint(0, 11, (9,), device=dev)], a)
    op(n + "_index_negative", lambda x: x[-1 - i0], a)
    op(n + "_index_mask", lambda x: x[x > 0], a)
    op(n + "_index_put_two_", lambda x, v: x.index_put_((torch.arange(9, device=dev),
       torch.arange(9, device=dev)), v), a.clone(), r(9, 11, dtype=dt))
    op(n + "_gather_rows", lambda x: x.gather(0, torch.randint(0, 37, (20, 53, 11), device=dev)), a)
    op(n + "_scatter_", lambda x, v: x.scatter_(1, torch.randint(0, 53, (37, 5, 11), device=dev), v),
       a.clone(), r(37, 5, 11, dtype=dt))
    op(n + "_scatter_value_", lambda x: x.scatter_(1, torch.randint(0, 53, (37, 5, 11), device=dev), 2.0),
       a.clone())
    op(n + "_flip", lambda x: x.flip(1), a)
    op(n + "_roll", lambda x: x.roll(3, 1), a)
    op(n + "_repeat", lambda x: x.repeat(2, 3, 1), a)
    op(n + "_expand_clone", lambda x: x.expand(7, 37, 53, 11).clone(), a)
    op(n + "_tril_stack", torch.tril, r(5, 33, 47, dtype=dt))
    op(n + "_triu_", lambda x: x.triu_(1), r(33, 47, dtype=dt))
    op(n + "_cumsum_outer", torch.cumsum, r(33, 470, dtype=dt), 0)
    grad(n + "_dropout_odd", lambda x: F.dropout(x, 0.3), r(333, 7, dtype=dt))
    grad(n + "_softmax_middle", lambda x: F.softmax(x, 1), r(7, 33, 65, dtype=dt))
    grad(n + "_softmax_2000", lambda x: F.softmax(x, -1), r(33, 2000, dtype=dt))
    grad(n + "_log_softmax_5000", lambda x: F.log_softmax(x, -1), r(33, 5000, dtype=dt))
    grad(n + "_layer_norm_plain", lambda x: F.layer_norm(x, (257,)), r(65, 257, dtype=dt))
    grad(n + "_layer_norm_tall", lambda x, w, b: F.layer_norm(x, (64,), w, b), r(20000, 64, dtype=dt),
         r(64, dtype=dt), r(64, dtype=dt))
    grad(n + "_layer_norm_two", lambda x, w, b: F.layer_norm(x, (12, 20), w, b), r(9, 12, 20, dtype=dt),
         r(12, 20, dtype=dt), r(12, 20, dtype=dt))
    grad(n + "_group_norm_plain", lambda x: F.group_norm(x, 3), r(5, 12, 7, 7, dtype=dt))
    grad(n + "_smooth_l1", lambda x, y: F.smooth_l1_loss(x, y), r(501, 7, dtype=dt), r(501, 7, dtype=dt))
    grad(n + "_mse_each", lambda x, y: F.mse_loss(x, y, reduction="none"), r(501, 7, dtype=dt),
         r(501, 7, dtype=dt))
    few = torch.randint(0, 10, (300,), device=dev)
    wt = torch.rand(10, device=dev).to(dt)
    grad(n + "_xent_weighted", lambda x: F.cross_entropy(x, few, weight=wt, ignore_index=3), r(300, 10, dtype=dt))
    grad(n + "_xent_sum", lambda x: F.cross_entropy(x, few, reduction="sum"), r(300, 10, dtype=dt))
    grad(n + "_leaky_relu", lambda x: F.leaky_relu(x, 0.1), a)
    grad(n + "_elu", F.elu, a)
    grad(n + "_softplus", F.softplus, a)
    grad(n + "_hardswish", F.hardswish, a)
    grad(n + "_mish", F.mish, a)
    grad(n + "_maxpool_odd", lambda x: F.max_pool2d(x, 3, 2, 1), r(5, 7, 33, 31, dtype=dt))
    grad(n + "_interp_odd", lambda x: F.interpolate(x, size=(50, 21)), r(5, 7, 33, 31, dtype=dt))
    many = [r(i % 97 + 1, dtype=dt) for i in range(300)] + [r(70001, dtype=dt), r(200000, dtype=dt)]
    more = [torch.randn_like(t) for t in many]
    op(n + "_f_add_many", lambda x, y: torch._foreach_add(x, y), many, more)
    op(n + "_f_mul_many_", lambda x: torch._foreach_mul_(x, 2.0), many)
    op(n + "_f_lerp_many_", lambda x, y: torch._foreach_lerp_(x, y, 0.5), many, more)
    op(n + "_f_addcmul_many_", lambda x, y: torch._foreach_addcmul_(x, y, y, 0.5), many, more)
    op(n + "_f_norm_many", lambda x: torch._foreach_norm(x), many)
    op(n + "_f_div_list_", lambda x: torch._foreach_div_(x, [2.0] * len(x)), many)
    op(n + "_f_zero_many_", lambda x: torch._foreach_zero_(x), many)
    op(n + "_f_copy_types_", lambda x, y: torch._foreach_copy_(x, y), many, [t.to(torch.float16) for t in more])
op("long_sum", torch.sum, torch.arange(100001, device=dev))
op("bool_sum", torch.sum, r(100001) > 0)
op("double_add", torch.add, r(1001, dtype=torch.float64), r(1001, dtype=torch.float64))
op("complex_mul", torch.mul, r(501, dtype=torch.complex64), r(501, dtype=torch.complex64))
op("complex_sum", lambda x: x.sum(0), r(501, 33, dtype=torch.complex128))
op("byte_add", torch.add, torch.ones(1001, device=dev, dtype=torch.uint8), 1)
op("sort_large", torch.sort, r(100001))
op("sort_rows", torch.sort, r(50, 3000))
op("topk_large", torch.topk, r(1000001), 100)
op("unique_large", torch.unique, torch.randint(0, 999, (100001,), device=dev))
op("nonzero_large", torch.nonzero, r(100001) > 0)
op("cumsum_large", torch.cumsum, r(1000001), 0)
op("bincount", torch.bincount, torch.randint(0, 99, (100001,), device=dev))
op("histc", torch.histc, r(100001))
op("linspace", lambda: torch.linspace(0, 1, 1001, device=dev))
op("eye", lambda: torch.eye(33, device=dev))
op("multinomial", lambda: torch.multinomial(torch.rand(7, 100, device=dev), 5))
op("normal_strided_", lambda x: x[:, ::2].normal_(), r(33, 47))
op("exponential_", lambda x: x.exponential_(), r(1001))
out.flush()
