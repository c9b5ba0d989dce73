/* usage: nvtx_client SCENARIO [LIBRARY…]
 * Runs the scenario in this program, or in each of the libraries, which are NVTX clients of their own. */
#include <dlfcn.h>
#include <stdio.h>

int run_scenario(const char* name);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  for (int i = 2; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    ((int (*)(const char*))dlsym(library, "run_scenario"))(argv[1]);
  }
  return argc > 2 ? 0 : run_scenario(argv[1]);
}
