import { AppError } from '../../kernel/errors.ts'
import type { Json, Path } from '../catalogue/json-value.ts'

export interface Position {
  /** From 1. */
  readonly line: number
  /** From 1, in characters. */
  readonly column: number
}

/** The file is invalid or ambiguous, or it cannot hold the value. The file is not changed. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit'
  readonly position: Position

  constructor(message: string, position: Position) {
    super(message)
    this.position = position
  }
}

/**
 * How an empty or missing container was written before the first value was put into it, so that removing the value
 * restores the same bytes. A string that only the format that made it can read.
 */
export type Trace = string

interface Edited {
  readonly text: string
  /** Undefined if the container existed and was not empty: then there is nothing to remember. */
  readonly trace: Trace | undefined
}

/**
 * Reads and edits one file format. An edit changes the bytes of one value and the separators next to it. Comments,
 * order, indentation, line ends, byte order mark and the end of the file stay.
 *
 * Every function throws `CannotEdit` for an invalid text, and for a path that leads through a duplicate name or
 * through a value of another kind.
 */
export interface Format {
  /** A larger file is neither read nor edited: parsing it would delay everything else too long. */
  readonly maxBytes: number
  /** The whole file; undefined if it is empty or has only comments. */
  read(text: string): Json | undefined
  /** The same, read by a second parser that shares no code with the first. */
  readAgain(text: string): Json | undefined
  /** Where the value begins, with its name; undefined if it does not exist. */
  find(text: string, path: Path): Position | undefined
  /** The same for many paths: the text is parsed once, and the function returns the line. */
  lines(text: string): (path: Path) => number | undefined
  /** Replaces the value, or adds it after its neighbours. Missing maps and lists on the path are created. */
  set(text: string, path: Path, value: Json): Edited
  /** Removes the value if it exists. With the trace of the first `set`, containers that it created go too once empty. */
  remove(text: string, path: Path, trace?: Trace): string
  /** The same format, but it does not parse a long text again that was the last one it parsed. */
  remembering(): Format
}

/** More than any agent writes. A larger file is a mistake or an attack. */
export const MAX_BYTES = 10 * 1024 * 1024

export const tooLarge = (path: string, maxBytes = MAX_BYTES): AppError => {
  const limit = maxBytes < 1024 * 1024 ? `${maxBytes / 1024} KiB` : `${maxBytes / 1024 / 1024} MiB`
  return new AppError('config_too_large', `${path} is larger than ${limit}; it is neither read nor edited`)
}

export function unparsable(path: string, why: string, position: Position): AppError {
  const message = `${path} cannot be edited: line ${position.line}, column ${position.column}: ${why}`
  return new AppError('config_unparsable', message, {
    hint: 'Nothing was changed. Correct the file by hand, or undo its last change',
    members: { line: position.line, column: position.column },
  })
}
