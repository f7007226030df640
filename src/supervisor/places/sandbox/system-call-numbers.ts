/** What the filter of a sandbox has to know about a processor. */
export interface SystemCallNumbers {
  readonly audit: number
  readonly refused: readonly number[]
  /** Programs have another way when these do not exist. */
  readonly missing: readonly number[]
  readonly clone: number
  readonly unshare: number
  readonly ioctl: number
  readonly sockets: readonly number[]
}

/** open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, quotactl_fd, open_tree_attr: the same on all. */
const MOUNTS = [428, 429, 430, 431, 432, 433, 442, 443, 467]
/** io_uring opens sockets past this filter; the namespaces of clone3 are in memory that it cannot read. */
const UNREADABLE = [425, 426, 427, 435]

/** By Node's name of the processor. */
export const SYSTEM_CALL_NUMBERS: Readonly<Record<string, SystemCallNumbers>> = {
  x64: {
    audit: 0xc000003e,
    refused: [
      ...[248, 249, 250], // add_key, request_key, keyctl
      ...[165, 166, 155, 308, 303, 304, ...MOUNTS], // mount, umount2, pivot_root, setns, name_to_handle_at, open_by_handle_at
      ...[321, 298, 323, 103, 212], // bpf, perf_event_open, userfaultfd, syslog, lookup_dcookie
      ...[246, 320, 175, 313, 176], // kexec_load, kexec_file_load, init_module, finit_module, delete_module
      ...[163, 179, 167, 168, 169, 172, 173], // acct, quotactl, swapon, swapoff, reboot, iopl, ioperm
    ],
    missing: UNREADABLE,
    clone: 56,
    unshare: 272,
    ioctl: 16,
    sockets: [41, 53],
  },
  arm64: {
    audit: 0xc00000b7,
    refused: [
      ...[217, 218, 219],
      ...[40, 39, 41, 268, 264, 265, ...MOUNTS],
      ...[280, 241, 282, 116, 18],
      ...[104, 294, 105, 273, 106],
      ...[89, 60, 224, 225, 142],
    ],
    missing: UNREADABLE,
    clone: 220,
    unshare: 97,
    ioctl: 29,
    sockets: [198, 199],
  },
}
