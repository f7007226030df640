/** The exit codes. From 64 on they are those of sysexits, which service managers understand. */
export const EXIT = {
  port_taken: 1,
  failed: 1,
  usage: 2,
  not_running: 3,
  token_refused: 4,
  not_found: 5,
  conflict: 6,
  tool_error: 7,
  timeout: 8,
  partly_done: 9,
  store_damaged: 65,
  folder_in_use: 75,
  configuration: 78,
} as const

/** A start that was refused for these reasons is refused again, until the user has changed something. */
export const LASTING_EXITS: readonly number[] = [EXIT.store_damaged, EXIT.folder_in_use, EXIT.configuration]

/** Ends a command. The message is one line for the terminal. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: number

  constructor(reason: keyof typeof EXIT, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.exitCode = EXIT[reason]
  }
}

export const configError = (message: string, cause?: unknown): StartError =>
  new StartError('configuration', message, cause)

/** Compares names, because the service is a separate bundle with its own copy of the class. */
export const isStartError = (error: unknown): error is StartError =>
  error instanceof Error && error.name === 'StartError'
