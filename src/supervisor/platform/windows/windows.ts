import type { Platform, ProcessGroupOptions, ProcessGroups } from '../platform.ts'
import type { ProcessTable } from '../process-table.ts'
import { endForeign } from './end-foreign-processes-on-windows.ts'
import { resolveOnWindows } from './find-program-on-windows.ts'
import { JobObject } from './job-object.ts'
import { JobObjectGroups } from './job-object-groups.ts'
import { TaskkillGroups } from './taskkill-groups.ts'
import { loadWindowsApi, type WindowsApi } from './windows-api.ts'
import { INHERITED } from './windows-environment.ts'
import { WindowsTable } from './windows-process-table.ts'

/** Windows, with Job Objects where koffi can be loaded. */
export function openWindows(load: () => WindowsApi = loadWindowsApi): Platform {
  try {
    return withJobs(load())
  } catch (error) {
    return withoutJobs(error instanceof Error ? error.message : String(error))
  }
}

function withJobs(api: WindowsApi): Platform {
  /** The job of this process and its descendants. Never closed: Windows would end this process. */
  let own: JobObject | undefined
  const table = new WindowsTable(api, () => own?.pids() ?? [])
  return {
    resolve: resolveOnWindows,
    mayNotAnswer,
    inherited: INHERITED,
    loginShell: () => undefined,
    warnings: [],
    table,
    openProcessGroups: async ({ onTrouble }) => {
      own ??= jobOfThisProcess(api, onTrouble)
      return new JobObjectGroups(api, table)
    },
    endForeign: (tree) => endForeign(api, table, tree),
  }
}

/** The paths of other computers. */
const mayNotAnswer = (paths: readonly string[]): boolean => paths.some((path) => /^[\\/]{2}/.test(path))

function jobOfThisProcess(
  api: WindowsApi,
  onTrouble: ProcessGroupOptions['onTrouble'],
): JobObject | undefined {
  try {
    const job = new JobObject(api)
    job.addThisProcess()
    return job
  } catch (error) {
    onTrouble(`processes may be left if Toolroom is killed: ${String(error)}`)
    return undefined
  }
}

function withoutJobs(reason: string): Platform {
  const [line = ''] = reason.split('\n', 1)
  return {
    resolve: resolveOnWindows,
    mayNotAnswer,
    inherited: INHERITED,
    loginShell: () => undefined,
    warnings: [
      `Servers are ended with taskkill, and their CPU and memory are not known, because the optional package koffi cannot be loaded: ${line.slice(0, 200)}. If Toolroom is killed, processes of its servers may be left. Install Toolroom again with its optional packages`,
    ],
    table: NO_TABLE,
    openProcessGroups: async (): Promise<ProcessGroups> => new TaskkillGroups(),
    endForeign: async () => 'not_permitted',
  }
}

const NO_TABLE: ProcessTable = {
  isCurrent: true,
  refresh: async () => {},
  newest: () => undefined,
  pids: () => [],
  read: () => undefined,
  commandLine: () => [],
  marked: async () => [],
  details: async () => ({ owner: '', ageS: 0, input: undefined, isManaged: true }),
  hasLostParent: () => false,
}
