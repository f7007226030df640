import { CannotEdit, type Place } from '../format.ts'

/** Deeper than any file of an agent, and far from where a recursive reader runs out of stack. */
export const MAX_DEPTH = 200

/** The top of the file, for what is wrong with the wish and not with the text. */
export const TOP: Place = { line: 1, column: 1 }

export function placeOf(text: string, offset: number): Place {
  let line = 1
  let lineStart = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1
    lineStart = at + 1
  }
  return { line, column: offset - lineStart + 1 }
}

/** The sentence names keys and places, never values: those may be secrets. */
export function cannotEdit(text: string, offset: number, sentence: (line: number) => string): CannotEdit {
  const place = placeOf(text, offset)
  return new CannotEdit(sentence(place.line), place)
}

export function invalidJson(text: string, offset: number, what: string): CannotEdit {
  const { line, column } = placeOf(text, offset)
  const where = `line ${line}, column ${column}`
  return new CannotEdit(`This file is not valid JSON: ${what} (${where}). Correct that first`, {
    line,
    column,
  })
}
