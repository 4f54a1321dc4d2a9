"""What tests assume of the machine: a folder in memory, and how long anything may take on a busy one."""

import os

# Seconds for what takes a moment on a quiet machine. A test that waits this long has found a fault.
LONGEST = 120
# A folder in memory, where the machine has one.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
