// Asks the real CUDA runtime for its devices, as any job does first.
// usage: cudart_client LIBCUDART
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  void* runtime = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
  int (*devices)(int*) = runtime == NULL ? NULL : (int (*)(int*))dlsym(runtime, "cudaGetDeviceCount");
  if (devices == NULL) return 2;
  int number = 0;
  printf("answer %d\n", devices(&number));
  return 0;
}
