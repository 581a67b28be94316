# Before PyTorch's own option(), whose default Debian's patches turn on: libc10.so, as upstream's wheels have it.
set(HAVE_SOVERSION OFF CACHE BOOL "Whether to add SOVERSION to the shared objects")
