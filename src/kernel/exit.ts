/** Why a start ends before it began. The numbers are those of sysexits, so that service managers know them. */
export const EXIT = { port_taken: 1, store_damaged: 65, folder_in_use: 75, configuration: 78 } as const

/** A start that cannot go on. The message is one line for the person at the terminal. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: number

  constructor(reason: keyof typeof EXIT, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.exitCode = EXIT[reason]
  }
}
