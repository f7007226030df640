/*
 * Tries to leave an isolation in every way that is known, and prints a line for each that succeeds. Nothing is changed: files
 * are opened and not written, and calls that would harm a computer are made with arguments that the kernel refuses after it
 * has checked the rights.
 *
 * Arguments: a file with paths, one on each line, with `read ` or `write ` before it; the pid of a process of the computer; a
 * port on which it listens; the name of an abstract socket; the names of its namespaces, as `mnt:[1]`.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* With real rights, what would change the computer is left out: the rights are in the list already. */
static int isMighty;

#define TRY(name, works) do { if (works) printf("%s\n", name); } while (0)

static int reads(const char *path) {
  struct stat stats;
  if (stat(path, &stats) != 0) return 0;
  if (S_ISDIR(stats.st_mode)) {
    DIR *folder = opendir(path);
    int count = 0;
    if (!folder) return 0;
    while (readdir(folder)) count++;
    closedir(folder);
    return count > 2;
  }
  if (S_ISSOCK(stats.st_mode)) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}, works = 0;
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    for (int i = 0; i < 3; i++) {
      int file = socket(AF_UNIX, kinds[i], 0);
      works |= connect(file, (struct sockaddr *)&to, sizeof to) == 0;
      close(file);
    }
    return works;
  }
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  char byte;
  int works = file >= 0 && read(file, &byte, 1) == 1;
  if (file >= 0) close(file);
  return works;
}

static int writes(const char *path) {
  struct stat stats;
  char made[4200];
  if (stat(path, &stats) != 0) return 0;
  if (S_ISDIR(stats.st_mode)) snprintf(made, sizeof made, "%.4000s/toolroom-escape", path);
  int file = S_ISDIR(stats.st_mode) ? open(made, O_WRONLY | O_CREAT, 0600)
                                    : open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return 0;
  close(file);
  if (S_ISDIR(stats.st_mode)) unlink(made);
  return 1;
}

static int hasRights(void) {
  char line[256];
  unsigned long long rights = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "CapEff:", 7) == 0) rights = strtoull(line + 7, 0, 16);
  if (status) fclose(status);
  return rights != 0;
}

static void files(const char *list) {
  char line[4200];
  FILE *file = fopen(list, "r");
  if (!file) exit(3);
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "read ", 5) == 0) TRY(line, reads(line + 5));
    if (strncmp(line, "write ", 6) == 0) TRY(line, writes(line + 6));
  }
  fclose(file);
}

static void descriptors(void) {
  char at[64], to[256];
  for (int file = 3; file < 256; file++) {
    snprintf(at, sizeof at, "/proc/self/fd/%d", file);
    ssize_t length = readlink(at, to, sizeof to - 1);
    if (length < 0) continue;
    to[length] = 0;
    if (strcmp(to, "/dev/null") != 0) printf("descriptor %d\n", file);
  }
}

static void sockets(int port, const char *name) {
  int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
  for (int family = 0; family < 46; family++)
    for (int kind = 0; kind < 4; kind++) {
      int file = socket(family, kinds[kind], 0);
      if (file < 0) continue;
      close(file);
      printf("socket family %d\n", family);
      break;
    }
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in out = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201)};
  int file = socket(AF_INET, SOCK_STREAM, 0);
  TRY("connect to loopback of the computer", connect(file, (struct sockaddr *)&own, sizeof own) == 0);
  close(file);
  file = socket(AF_INET, SOCK_DGRAM, 0);
  TRY("a route to other computers", connect(file, (struct sockaddr *)&out, sizeof out) == 0);
  close(file);
  struct sockaddr_un abstract = {.sun_family = AF_UNIX};
  strncpy(abstract.sun_path + 1, name, sizeof abstract.sun_path - 2);
  file = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
  TRY("an abstract socket of the computer", connect(file, (struct sockaddr *)&abstract, length) == 0);
  close(file);
}

static void processes(int pid) {
  char byte, path[64];
  struct iovec here = {&byte, 1}, there = {(void *)&reads, 1};
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  TRY("see a process of the computer", access(path, F_OK) == 0);
  TRY("signal a process of the computer", kill(pid, 0) == 0);
  TRY("ptrace a process of the computer", ptrace(PTRACE_SEIZE, pid, 0, 0) == 0);
  TRY("memory of a process of the computer", process_vm_readv(pid, &here, 1, &there, 1, 0) == 1);
  /* It gets its filter at the same time as this program. */
  int isFiltered = 0, rights = 0;
  for (int round = 0; round < 50 && !isFiltered; round++) {
    char line[256];
    FILE *status = fopen("/proc/1/status", "r");
    while (status && fgets(line, sizeof line, status)) {
      if (strncmp(line, "Seccomp:", 8) == 0) isFiltered = atoi(line + 8) == 2;
      if (strncmp(line, "CapEff:", 7) == 0) rights = strtoull(line + 7, 0, 16) != 0;
    }
    if (status) fclose(status);
    if (!isFiltered) usleep(20000);
  }
  TRY("a first process without a filter of system calls", !isFiltered);
  TRY("a first process with capabilities", rights);
}

static int setgroups_empty(void) { return syscall(SYS_setgroups, 0, 0) == 0 ? 0 : -1; }

static void rights(void) {
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) {
    if (strncmp(line, "Cap", 3) == 0 && strtoull(line + 7, 0, 16) != 0) printf("capabilities %.6s\n", line);
    if (strncmp(line, "Uid:", 4) == 0 && getuid() == 0) printf("the user id of root\n");
    if (strncmp(line, "Groups:", 7) == 0) TRY("supplementary groups", strspn(line + 7, " \t\n") != strlen(line + 7));
    if (strncmp(line, "Seccomp:", 8) == 0) TRY("no filter of system calls", atoi(line + 8) != 2);
  }
  if (status) fclose(status);
  TRY("new privileges by a program", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
  int isRoot = getuid() == 0;
  TRY("setuid", !isRoot && setuid(0) == 0);
  TRY("setgid", getgid() != 0 && setgid(0) == 0);
  if (isMighty) return;
  TRY("setgroups", setgroups_empty() == 0);
  TRY("a host name", sethostname("toolroom-escape", 15) == 0);
  TRY("a device node of characters", mknod("/tmp/toolroom-escape-c", S_IFCHR | 0666, makedev(1, 5)) == 0);
  TRY("a device node of blocks", mknod("/tmp/toolroom-escape-b", S_IFBLK | 0666, makedev(8, 0)) == 0);
}

static int inChild(int (*works)(int), int argument) {
  int result = 0;
  pid_t child = fork();
  if (child == 0) _exit(works(argument) ? 7 : 0);
  waitpid(child, &result, 0);
  return WIFEXITED(result) && WEXITSTATUS(result) == 7;
}

static int unshares(int flag) { return unshare(flag) == 0; }
static int clones(int flag) {
  long child = syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return child > 0;
}
static int clones3(int flag) {
  unsigned long long arguments[11] = {flag, 0, 0, 0, SIGCHLD};
  long child = syscall(435, arguments, 88);
  if (child == 0) _exit(0);
  return child > 0;
}
static int enters(int unused) {
  (void)unused;
  int file = open("/proc/1/ns/mnt", O_RDONLY);
  return file >= 0 && setns(file, 0) == 0;
}
static int mounts(int unused) {
  (void)unused;
  return mount("none", "/tmp", "tmpfs", 0, 0) == 0;
}
static int binds(int unused) {
  (void)unused;
  return mount("/", "/tmp", 0, MS_BIND, 0) == 0;
}
static int unmounts(int unused) {
  (void)unused;
  return umount2("/proc", MNT_DETACH) == 0;
}
static int roots(int unused) {
  (void)unused;
  return chroot("/tmp") == 0;
}

static void namespaces(int count, char **names) {
  struct { int flag; const char *name; } kinds[] = {
    {CLONE_NEWUSER, "user"}, {CLONE_NEWNS, "mnt"}, {CLONE_NEWPID, "pid"}, {CLONE_NEWNET, "net"},
    {CLONE_NEWIPC, "ipc"}, {CLONE_NEWUTS, "uts"}, {0x02000000, "cgroup"},
  };
  char line[128], path[64], own[64];
  for (int i = 0; i < 7; i++) {
    snprintf(line, sizeof line, "a new %s namespace", kinds[i].name);
    TRY(line, inChild(unshares, kinds[i].flag) || inChild(clones, kinds[i].flag) || inChild(clones3, kinds[i].flag));
    snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i].name);
    ssize_t length = readlink(path, own, sizeof own - 1);
    own[length < 0 ? 0 : length] = 0;
    for (int j = 0; j < count; j++)
      if (strcmp(own, names[j]) == 0) printf("the %s namespace of the computer\n", kinds[i].name);
  }
  if (isMighty) return;
  TRY("another namespace", inChild(enters, 0));
  TRY("a mount", inChild(mounts, 0) || inChild(binds, 0));
  TRY("an unmount", inChild(unmounts, 0));
  TRY("a new root", inChild(roots, 0));
  TRY("a mount without a place", syscall(430, "tmpfs", 0) >= 0 || syscall(428, -100, "/", 1) >= 0);
}

static void calls(void) {
  unsigned long handle[20] = {64};
  int id;
  union bpf_attr program = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  struct perf_event_attr event = {.size = sizeof event, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
  unsigned char ring[256] = {0};
  TRY("a key in a keyring", syscall(SYS_add_key, "user", "toolroom-escape", "x", 1L, -3L) >= 0);
  TRY("the keyring of the session", syscall(SYS_keyctl, 0L, -3L, 0L) >= 0);
  TRY("the keyring of the user", syscall(SYS_keyctl, 0L, -4L, 0L) >= 0);
  TRY("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &program, sizeof program) >= 0);
  TRY("perf events", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0UL) >= 0);
  TRY("userfaultfd", syscall(SYS_userfaultfd, 0) >= 0);
  TRY("io_uring", syscall(425, 1, ring) >= 0);
  TRY("the log of the kernel", syscall(SYS_syslog, 10, 0, 0) >= 0);
  TRY("a file by its handle", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", handle, &id, 0) == 0 &&
    syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY) >= 0);
  TRY("a module of the kernel", syscall(SYS_init_module, 0, 0UL, "") == 0 || errno == EFAULT || errno == ENOEXEC);
  TRY("a lower score of the OOM killer", ({
    int file = open("/proc/self/oom_score_adj", O_WRONLY);
    file >= 0 && write(file, "-1000", 5) == 5;
  }));
  char typed = 'x';
  int terminal = open("/dev/tty", O_RDWR | O_NONBLOCK);
  TRY("typing into a terminal", ioctl(terminal, TIOCSTI, &typed) == 0 || ioctl(0, TIOCSTI, &typed) == 0 ||
    ioctl(2, TIOCSTI, &typed) == 0);
}

/* What a server does in its folder before its next start. */
static int puts_link(const char *target, const char *path) {
  char moved[4200];
  snprintf(moved, sizeof moved, "%.4000s.moved", path);
  rename(path, moved);
  return symlink(target, path) == 0;
}

int main(int count, char **arguments) {
  if (count == 4 && strcmp(arguments[1], "link") == 0) {
    printf(puts_link(arguments[2], arguments[3]) ? "end\n" : "no link\n");
    return 0;
  }
  if (count < 5) return 2;
  setvbuf(stdout, 0, _IOLBF, 0);
  isMighty = hasRights();
  descriptors();
  files(arguments[1]);
  processes(atoi(arguments[2]));
  sockets(atoi(arguments[3]), arguments[4]);
  namespaces(count - 5, arguments + 5);
  calls();
  rights();
  printf("end\n");
  return 0;
}
