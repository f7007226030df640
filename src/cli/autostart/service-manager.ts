/** What the service manager of the operating system knows about Toolroom. */
export interface ServiceState {
  /** The file that describes the service to it. */
  readonly file: string
  readonly installed: boolean
  /** Started at login. */
  readonly enabled: boolean
  readonly running: boolean
  /** It has ended with an error, and is not started again. */
  readonly failed: boolean
  readonly pid: number | null
}

/** The program that the service manager starts. */
export interface Program {
  readonly command: string
  /** The file of Toolroom. */
  readonly mainFile: string
  /** Its data folder. */
  readonly data: string
  readonly env: Readonly<Record<string, string>>
}

/** One implementation for each operating system, each in its own file. */
export interface ServiceManager {
  readonly name: string
  readonly file: string
  /** The content of `file`. */
  describe(program: Program): string
  /** The commands that `install` runs, for a dry run. */
  readonly commands: readonly string[]
  /** Whether it asks a running program to end before it stops or replaces it. */
  readonly asksToEnd: boolean
  /** Throws a sentence if it cannot be used here. */
  check(): Promise<void>
  /** Writes the file, and starts the program now and at every login. Throws a sentence, after taking everything back. */
  install(program: Program): Promise<void>
  /** Stops the program and removes the file. */
  uninstall(): Promise<void>
  state(): Promise<ServiceState>
  /** The command that shows why it failed. */
  readonly logCommand: string
  /** What else the user may want to do. */
  hint(): string | null
}
