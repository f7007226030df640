/* Writes the mount namespace of every program that loads it into the file that TOOLROOM_LOADED names. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* So that it can be loaded as an auditor, too. */
unsigned la_version(unsigned version) { return version; }

__attribute__((constructor)) static void loaded(void) {
  char own[64];
  ssize_t length = readlink("/proc/self/ns/mnt", own, sizeof own - 1);
  const char *path = getenv("TOOLROOM_LOADED");
  int file = path && length > 0 ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  if (file < 0) return;
  own[length] = '\n';
  if (write(file, own, length + 1) < 0) _exit(9);
  close(file);
}
