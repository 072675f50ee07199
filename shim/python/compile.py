"""compile.py SOURCE PYC: compiles a module of the shims for the python3 that runs this. The file has the place of the source in a region, and no time."""
import py_compile
import sys

py_compile.compile(sys.argv[1], sys.argv[2], "/lethe/python/lethe.py", doraise=True, optimize=0, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
