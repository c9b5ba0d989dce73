"""`cuda_started.py CASE STEPS`: profiled.py after CUDA's driver would have loaded the library, as cuInit does."""
import ctypes
import os
import runpy
import sys

ctypes.CDLL(os.environ["GSD_LIBRARY"]).InitializeInjection()
sys.argv[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiled.py")
runpy.run_path(sys.argv[0], run_name="__main__")
