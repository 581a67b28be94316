"""A CUDA library of two files that the device linker puts together, with a kernel that starts another; and a program that runs it."""

import json
import pathlib
import subprocess
import sys

SOURCES = {
    "parent.cu": """
#include <cuda_runtime.h>
__device__ int mix(int value, int index);
__global__ void child(int* values) { values[threadIdx.x] = mix(values[threadIdx.x], threadIdx.x); }
__global__ void parent(int* values) {
  values[0] += 7;
  child<<<1, 64>>>(values);
}
extern "C" const char* run(int* values) {
  int* there = nullptr;
  cudaMalloc(&there, 64 * sizeof(int));
  cudaMemcpy(there, values, 64 * sizeof(int), cudaMemcpyHostToDevice);
  parent<<<1, 1>>>(there);
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  cudaMemcpy(values, there, 64 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(there);
  return cudaGetErrorString(status);
}
""",
    "mix.cu": """
__device__ int mix(int value, int index) {
  for (int i = 0; i <= index; ++i) value = value * 1103515245 + 12345;
  return value;
}
""",
}


def expected() -> list[int]:
    values = [7 + 0, *range(1, 64)]
    for index, value in enumerate(values):
        for _ in range(index + 1):
            value = (value * 1103515245 + 12345) & 0xFFFFFFFF
        values[index] = value - (value >> 31 << 32)
    return values


def make(nvcc: str, folder: pathlib.Path, gpus: list[str]) -> pathlib.Path:
    """librdc.so for these compute capabilities."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    codes = [f"-gencode=arch=compute_{gpu.replace('.', '')},code=sm_{gpu.replace('.', '')}" for gpu in gpus]
    subprocess.run([nvcc, "-O2", "-rdc=true", "-shared", "-cudart=static", "-Xcompiler=-fPIC", *codes, "-o", folder / "librdc.so",
                    *(folder / name for name in SOURCES)], check=True)
    return folder / "librdc.so"


def run(library: pathlib.Path) -> tuple[str, bool]:
    """What CUDA says of it, and whether the values are right. A process of its own: a library that is loaded stays loaded."""
    done = subprocess.run([sys.executable, __file__, library], text=True, stdout=subprocess.PIPE, check=True)
    said = json.loads(done.stdout)
    return said["status"], said["values"] == expected()


if __name__ == "__main__":
    import ctypes
    loaded = ctypes.CDLL(sys.argv[1])
    loaded.run.restype = ctypes.c_char_p
    numbers = (ctypes.c_int * 64)(*range(64))
    status = loaded.run(numbers).decode()
    print(json.dumps({"status": status, "values": list(numbers)}))
