// Solves A x = b on the GPU, by Cholesky and, with -DWITH_LU, by LU, and prints the residuals.
// Exit code 77: no GPU here, nothing was solved. 1: a residual is too large, or a call failed.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <magma_v2.h>
#include <vector>
#ifdef MAGMA_HAVE_HIP
#define cudaDeviceProp hipDeviceProp_t
#define cudaFree hipFree
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaMalloc hipMalloc
#define cudaMemcpy hipMemcpy
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaSuccess hipSuccess
#else
#include <cuda_runtime.h>
#endif

namespace {

constexpr int kOrder = 1500;
constexpr std::size_t kCells = static_cast<std::size_t>(kOrder) * kOrder;

using Numbers = std::vector<double>;

std::size_t At(int row, int column) { return row + static_cast<std::size_t>(column) * kOrder; }

void Check(int failed, const char* what) {
  if (failed == 0) return;
  std::fprintf(stderr, "%s failed: %d\n", what, failed);
  std::exit(1);
}

/// Numbers in [-1, 1) that are the same everywhere.
double Next() {
  static unsigned state = 7;
  state = state * 1664525U + 1013904223U;
  return static_cast<double>(state >> 8U) / static_cast<double>(1U << 23U) - 1.0;
}

/// A copy of `numbers` on the GPU.
class OnGpu {
 public:
  explicit OnGpu(const Numbers& numbers) : count_(numbers.size()) {
    Check(cudaMalloc(reinterpret_cast<void**>(&data_), Bytes()), "cudaMalloc");
    Check(cudaMemcpy(data_, numbers.data(), Bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() { (void)cudaFree(data_); }

  double* data() { return data_; }
  Numbers Back() const {
    Numbers numbers(count_);
    Check(cudaMemcpy(numbers.data(), data_, Bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return numbers;
  }

 private:
  std::size_t Bytes() const { return count_ * sizeof(double); }

  std::size_t count_;
  double* data_ = nullptr;
};

/// Prints max |A x - b| / (max |x| * max row sum of |A|), which is about the machine's precision, 1e-16.
/// False if it is not, NaN among that.
bool Report(const char* method, const Numbers& a, const Numbers& x, const Numbers& b) {
  double worst = 0, norm_a = 0, norm_x = 0;
  for (int i = 0; i < kOrder; ++i) {
    double sum = -b[i], row = 0;
    for (int j = 0; j < kOrder; ++j) {
      sum += a[At(i, j)] * x[j];
      row += std::fabs(a[At(i, j)]);
    }
    if (!(std::fabs(sum) <= worst)) worst = std::fabs(sum);
    norm_a = std::fmax(norm_a, row);
    norm_x = std::fmax(norm_x, std::fabs(x[i]));
  }
  const double residual = worst / (norm_a * norm_x);
  std::printf("%s, n = %d: residual %.2e\n", method, kOrder, residual);
  return residual < 1e-13;
}

bool SolveByCholesky(const Numbers& b) {
  // Symmetric, and positive definite by its diagonal.
  Numbers a(kCells);
  for (int j = 0; j < kOrder; ++j) {
    for (int i = j; i < kOrder; ++i) a[At(i, j)] = a[At(j, i)] = Next();
    a[At(j, j)] = kOrder;
  }
  OnGpu on_gpu(a), x(b);
  magma_int_t info = 0;
  magma_dpotrf_gpu(MagmaLower, kOrder, on_gpu.data(), kOrder, &info);
  Check(info, "magma_dpotrf_gpu");
  magma_dpotrs_gpu(MagmaLower, kOrder, 1, on_gpu.data(), kOrder, x.data(), kOrder, &info);
  Check(info, "magma_dpotrs_gpu");
  return Report("Cholesky", a, x.Back(), b);
}

#ifdef WITH_LU
bool SolveByLu(const Numbers& b) {
  Numbers a(kCells);
  for (double& number : a) number = Next();
  OnGpu on_gpu(a), x(b);
  std::vector<magma_int_t> pivots(kOrder);
  magma_int_t info = 0;
  magma_dgetrf_gpu(kOrder, kOrder, on_gpu.data(), kOrder, pivots.data(), &info);
  Check(info, "magma_dgetrf_gpu");
  magma_dgetrs_gpu(MagmaNoTrans, kOrder, 1, on_gpu.data(), kOrder, pivots.data(), x.data(), kOrder, &info);
  Check(info, "magma_dgetrs_gpu");
  return Report("LU", a, x.Back(), b);
}
#endif

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU here: nothing was solved\n");
    return 77;
  }
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::printf("%s, compute capability %d.%d\n", properties.name, properties.major, properties.minor);
  Check(magma_init(), "magma_init");
  Numbers b(kOrder);
  for (double& number : b) number = Next();
  bool good = SolveByCholesky(b);
#ifdef WITH_LU
  good = SolveByLu(b) && good;
#endif
  Check(magma_finalize(), "magma_finalize");
  return good ? 0 : 1;
}
