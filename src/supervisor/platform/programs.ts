import { statSync } from 'node:fs'

export interface Place {
  /** The arguments of the command. */
  readonly args?: readonly string[] | undefined
  readonly cwd: string
  /** The environment of the tool server. Its PATH and home are used, not those of Toolroom. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export type Resolved =
  | {
      readonly ok: true
      readonly path: string
      /** All arguments, with those that the program itself needs. */
      readonly args: readonly string[]
      /** On Windows: the arguments are quoted already. */
      readonly verbatim?: boolean
      readonly cwd: string
      /** The PATH to start it with: `#!/usr/bin/env node` of an `npx` must find node in the same folders. */
      readonly searchPath: string
    }
  | Unresolved

export interface Unresolved {
  readonly ok: false
  readonly code: 'command_not_found' | 'not_executable' | 'cwd_not_found' | 'bad_interpreter'
  readonly message: string
  readonly hint: string
}

export type Kind = 'file' | 'folder' | 'other' | 'missing' | 'unreachable'

export function kindOf(file: string): Kind {
  try {
    const stat = statSync(file, { throwIfNoEntry: false }) // an error for each missing folder would cost most of a start
    if (!stat) return 'missing'
    return stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other'
  } catch (error) {
    // Also an invalid name: too long, or with a NUL character.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'unreachable' : 'missing'
  }
}
