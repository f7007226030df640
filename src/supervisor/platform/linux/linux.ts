import type { Platform } from '../platform.ts'
import { unixPlatform } from '../unix/unix.ts'
import { cgroupFor } from './cgroup.ts'
import { linuxTable } from './linux-table.ts'
import { LINUX_FUNCTIONS } from './reaper-functions.ts'

export const platform: Platform = unixPlatform({
  name: 'linux',
  table: linuxTable,
  emptyGroup: ['ESRCH'],
  shellFunctions: LINUX_FUNCTIONS,
  startText: String,
  cgroupFor,
})
