"""The numbers of src/spool_writer/spool_format.h that the hook uses. Part of the format: never renumbered."""
STEP, RANGE, COLLECTIVE, WAIT, HOST_SYNC, MARK = 4, 5, 6, 7, 8, 17

NO_PHASE, FORWARD, BACKWARD, OPTIMIZER, DATA, COMPRESS, DECOMPRESS = range(7)

TORCH_HOOK, DDP_LOGGER = 1, 8

DEEP, EXTRAPOLATED, ASYNC, IN_HOOK = 1, 2, 4, 8

ABI_VERSION = 1

