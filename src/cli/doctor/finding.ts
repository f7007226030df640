/** `problem`: something does not work. `hint`: it works, and needs attention. `none`: missing, and not needed. */
export type Level = 'ok' | 'none' | 'hint' | 'problem'

/** A repair that is safe and can be undone. */
export interface Fix {
  /** What it does, as a sentence: `Set command of time to /home/me/bin/uvx`. */
  readonly does: string
  /** A command, or a sentence. */
  readonly undo: string
  readonly apply: () => Promise<void>
}

export interface Finding {
  readonly level: Level
  readonly text: string
  /** The command that shows more. */
  readonly see?: string
  readonly fixes?: readonly Fix[]
}

/** A repair that was made, or would be. */
export interface Applied extends Pick<Fix, 'does' | 'undo'> {
  readonly finding: Finding
  readonly done: boolean
  readonly error: string | null
}

export interface Section {
  readonly name: string
  readonly findings: readonly Finding[]
}

export const ok = (text: string): Finding => ({ level: 'ok', text })
export const hint = (text: string, see?: string): Finding => ({ level: 'hint', text, ...(see && { see }) })
export const problem = (text: string, see?: string): Finding => ({
  level: 'problem',
  text,
  ...(see && { see }),
})
