import type { Platform } from '../platform.ts'
import type { Kill } from '../unix/signals.ts'
import { unixPlatform } from '../unix/unix.ts'
import { startText } from './ps.ts'
import { PsTable } from './ps-table.ts'
import { darwinFunctions } from './reaper-functions.ts'

interface Options {
  /** The option of `ps` that appends the environment to the command. */
  readonly environmentFlag?: string
  readonly kill?: Kill
}

/** macOS has no /proc, so `ps` is asked. The options are for a test on another system. */
export const darwinWith = ({ environmentFlag = '-E', ...options }: Options = {}): Platform =>
  unixPlatform({
    name: 'darwin',
    table: new PsTable(environmentFlag),
    emptyGroup: ['ESRCH', 'EPERM'], // EPERM: all members of the group are zombies
    shellFunctions: darwinFunctions(environmentFlag),
    startText,
    cgroupFor: () => undefined,
    ...options,
  })
