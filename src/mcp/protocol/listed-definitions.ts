import { RawJson, rewritten, textOf } from './raw-json.ts'

/** A tool, prompt, resource or resource template as its server describes it, unknown fields included. */
export type Definition = Readonly<Record<string, unknown>>

/** A server's lists other than its tools. */
export interface OtherLists {
  readonly prompts: readonly Definition[]
  readonly resources: readonly Definition[]
  readonly resource_templates: readonly Definition[]
}

export type ListKind = keyof OtherLists

/** Beside the definitions, because most have none: JSON.stringify writes them as their servers did. */
const written = new WeakMap<Definition, string>()

/** The definition as its server wrote it. */
export const definitionText = (definition: Definition): string =>
  written.get(definition) ?? JSON.stringify(definition)

/** The same, if JSON.stringify would write it differently, for example because of `1.0` or 20 digits. */
export const writtenText = (definition: Definition): string | undefined => written.get(definition)

/**
 * Keeps the text that a definition was parsed from. Not if a key occurs twice in one object: a parser that takes the first one
 * would read another definition than the one that is compared with its pin.
 */
export function keepText(definition: Definition, text: string): void {
  const line = text.replaceAll(/[\r\n]+/g, '')
  const plain = JSON.stringify(definition)
  if (line !== plain && membersIn(line) === membersIn(plain)) written.set(definition, line)
}

/** A copy with another name or URI, written like the original. */
export const renamed = (definition: Definition, own: Definition): Definition =>
  writtenLike(definition, { ...definition, ...own })

/** A changed copy. It is written like the original wherever both have the same value. */
export function writtenLike(definition: Definition, copy: Definition): Definition {
  const text = written.get(definition)
  if (text !== undefined) written.set(copy, textOf(rewritten(new RawJson(text, definition), copy)))
  return copy
}

/** The number of members of all objects: of the colons that are not in strings. */
function membersIn(json: string): number {
  let count = 0
  let isInString = false
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === BACKSLASH) at += 1
    else if (code === QUOTE) isInString = !isInString
    else if (code === COLON && !isInString) count += 1
  }
  return count
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]
