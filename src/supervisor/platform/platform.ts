import type { Readable, Writable } from 'node:stream'
import type { Place, Resolved } from './find-program.ts'
import type { ProcessFacts, ProcessTable } from './process-table.ts'

/** What Toolroom needs from an operating system to run tool servers. */
export interface Platform {
  /** Finds the program of a command, before anything is started. */
  resolve(command: string, place: Place): Resolved
  /** One of these paths is on a disk that may not answer. A look at it could hold up all of Toolroom. */
  mayNotAnswer(paths: readonly string[]): boolean
  /** The names of the variables that a child inherits. It must not see the others, such as the token. */
  readonly inherited: readonly string[]
  /** What does not work as it should on this computer, for the user. */
  readonly warnings: readonly string[]
  /** The path of the user's shell, which extends PATH in files that only a shell reads. */
  loginShell(): string | undefined
  readonly table: ProcessTable
  /** Ends first what an earlier run of the same data folder has left. */
  openProcessGroups(options: ProcessGroupOptions): Promise<ProcessGroups>
  /** Ends processes that Toolroom did not start, and their children. Does not wait for one that is blocked on a device. */
  endForeign(tree: readonly ProcessFacts[]): Promise<'ended' | 'not_permitted'>
}

export interface ProcessGroupOptions {
  readonly marks: Marks
  /** Whether the last run was killed. A run that was closed has ended all its processes. */
  readonly wasKilled: boolean
  readonly onTrouble: (message: string) => void
}

export interface Marks {
  /** On all processes that were ever started from this data folder: a start finds what a crash has left. */
  readonly ofFolder: string
  /**
   * On the processes of this run. It begins with the mark of the folder. The reaper of a killed run may still be at work
   * when the next run starts servers, and must not end those.
   */
  readonly ofRun: string
}

/** Starts the processes of one run of Toolroom, so that each can be ended with all its descendants. */
export interface ProcessGroups {
  /** How many processes of an earlier run were ended. */
  readonly leftovers: number
  /** Rejects if the operating system cannot start it. */
  start(launch: Launch): Promise<ProcessGroup>
  /** Ends all processes of this run at once. */
  endAll(): Promise<void>
  /** To be called when all have ended. */
  close(): Promise<void>
}

export interface Launch {
  /** The path of an executable file. */
  readonly path: string
  readonly args: readonly string[]
  /** On Windows: the arguments are passed as they are, without quotes. */
  readonly verbatim?: boolean
  readonly cwd: string | undefined
  /** Set if the program and its child only hold the process that is meant, end with it, and are not asked to end. */
  readonly holder?: Holder
  readonly env: Readonly<Record<string, string>>
  /** A variable that its descendants inherit, as `NAME=value`. */
  readonly mark: string
}

/**
 * What a program gets that holds another one in isolation. Its environment has nothing but the mark: a variable of the loader
 * would run code of the server outside of its isolation.
 */
export interface Holder {
  /** Arguments that it reads from descriptor 3, which tell it the environment of the process that it holds. */
  readonly args: (environment: Readonly<Record<string, string>>) => readonly string[]
  /** Its descriptors from 4 on: open files, or bytes that it reads. */
  readonly descriptors: readonly (number | Buffer)[]
  /** Descriptors that it would inherit without a need. */
  readonly inherited: readonly number[]
  /** It has no supplementary groups, which only root can leave. */
  readonly leavesGroups: boolean
  /** Closes the open files. To be called when it has been started, or was not. */
  readonly close: () => void
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The memory limit of its container ended it. */
  readonly outOfMemory?: boolean
}

/**
 * A process that Toolroom has started, and its descendants: in a process group on Unix, in a Job Object on Windows. None of
 * them leaves it unnoticed.
 */
export interface ProcessGroup {
  readonly pid: number
  readonly input: Writable
  readonly output: Readable
  readonly errors: Readable
  /** Settles when the process has ended, whatever its children do. */
  readonly ended: Promise<Exit>
  /** To be called when it has probably started its children. */
  settled(): void
  /** Ends its input, which tells an MCP server to end. */
  closeInput(): Promise<void>
  /** Asks it to end. False if this system has no such signal. */
  ask(): boolean
  /** Ends it with all its descendants. To be called even if the process has ended, because children often outlive it. */
  end(): Promise<void>
  /** What the process and all its known descendants use; undefined if the system does not tell. */
  usage(): Promise<readonly ProcessUsage[] | undefined>
}

export type ProcessUsage = Pick<ProcessFacts, 'pid' | 'cpuMs' | 'rssBytes' | 'zombie'>
