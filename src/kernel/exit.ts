/** Why a command ends without success. From 64 the numbers are those of sysexits, so that service managers know them. */
export const EXIT = {
  port_taken: 1,
  not_running: 3,
  token_refused: 4,
  store_damaged: 65,
  folder_in_use: 75,
  configuration: 78,
} as const

/** A command that cannot go on. The message is one line for the person at the terminal. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: number

  constructor(reason: keyof typeof EXIT, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.exitCode = EXIT[reason]
  }
}

/** By its name: the service is a bundle of its own, with a class of its own. */
export const isStartError = (error: unknown): error is StartError =>
  error instanceof Error && error.name === 'StartError'
