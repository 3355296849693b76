// SPDX-License-Identifier: Apache-2.0
// PyTorch's allocator interface as far as the watch feed touches it: a virtual
// table with a tracker function somewhere in it, the same in the allocator without
// exported names (NATIVE, libc10_cuda.so) and in the one with them (libtorch_cuda.so).
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#define API __attribute__((visibility("default")))

namespace c10::cuda::CUDACachingAllocator {

struct TraceEntry {
	enum Action { ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC };
	Action action_;
	int8_t device_;
	size_t addr_;
	std::shared_ptr<void> context_;
	void *stream_{};
	size_t size_;
	std::pair<uint64_t, uint64_t> mempool_;
	uint64_t time_{};
	std::string compile_context_;
};

struct API CUDAAllocator {
	virtual ~CUDAAllocator() = default;
	virtual void *raw_alloc(size_t) { return nullptr; }
	virtual void unused() {}
	virtual void attachAllocatorTraceTracker(std::function<void(const TraceEntry &)> tracker) = 0;
	virtual std::string name() { return "fake"; }
};

API extern std::atomic<CUDAAllocator *> allocator;

} // namespace c10::cuda::CUDACachingAllocator

#ifdef NATIVE
namespace c10::cuda::CUDACachingAllocator {

namespace {
struct Native final : CUDAAllocator {
	std::vector<std::function<void(const TraceEntry &)>> trackers;
	void attachAllocatorTraceTracker(std::function<void(const TraceEntry &)> tracker) override
	{
		for (int device = 0; device < 1; device++)
			trackers.push_back(tracker);
	}
} native;
} // namespace

std::atomic<CUDAAllocator *> allocator{&native};

extern "C" API void fake_trace(int action, uint64_t addr, uint64_t size, uint64_t stream, uint64_t pool)
{
	TraceEntry e{TraceEntry::Action(action), 0, addr, nullptr, reinterpret_cast<void *>(stream), size,
		     {0, pool}, 0, "N/A"};

	for (auto &t : native.trackers)
		t(e);
}

} // namespace c10::cuda::CUDACachingAllocator
#else
namespace torch::cuda::CUDAPluggableAllocator {

struct API CUDAPluggableAllocator : c10::cuda::CUDACachingAllocator::CUDAAllocator {
	void unused() override;
	void attachAllocatorTraceTracker(
		std::function<void(const c10::cuda::CUDACachingAllocator::TraceEntry &)> tracker) override;
};
void CUDAPluggableAllocator::unused() {}
void CUDAPluggableAllocator::attachAllocatorTraceTracker(
	std::function<void(const c10::cuda::CUDACachingAllocator::TraceEntry &)>)
{
	throw 1;
}

} // namespace torch::cuda::CUDAPluggableAllocator
#endif
