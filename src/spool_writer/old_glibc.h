// Binds to the oldest glibc symbol versions, so that a library built here loads in a job that runs on a distribution
// of 2012 (glibc 2.17). These functions moved into libc.so.6 with glibc 2.34 and got a new default version there; the
// old version is still exported. On other machines than x86-64 the base version is 2.17 or the name did not move in a
// way that matters, and the list is empty.
//
// Include it in every file of the injected library that names one of them. tests/inject/check_symbols.py watches.
#pragma once

#if defined(__x86_64__) && defined(__linux__)
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver dlclose, dlclose@GLIBC_2.2.5");
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");
#endif
