// The packages' headers and libraries: loads libc10_cuda, and where there is a GPU, allocates, fills and frees memory there.
// Exit code 77: no GPU here.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cstdio>
#include <cuda_runtime.h>

int main() {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const int devices = c10::cuda::device_count();
  std::printf("libc10_cuda is loaded, %d GPUs\n", devices);
  if (devices == 0) return 77;
  allocator::init(devices);
  constexpr std::size_t kBytes = std::size_t{64} << 20U;
  void* memory = allocator::raw_alloc(kBytes);
  const auto allocated = [] { return allocator::getDeviceStats(0).allocated_bytes[0].current; };
  const long long during = allocated();
  if (cudaMemset(memory, 7, kBytes) != cudaSuccess) return 1;
  unsigned char last = 0;
  if (cudaMemcpy(&last, static_cast<char*>(memory) + kBytes - 1, 1, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  allocator::raw_delete(memory);
  const long long after = allocated();
  allocator::emptyCache();
  std::printf("allocated %lld bytes, last one is %d, after the release %lld\n", during, last, after);
  return during == static_cast<long long>(kBytes) && last == 7 && after == 0 ? 0 : 1;
}
