import { createScanner, findNodeAtLocation, parseTree } from 'jsonc-parser'
import type { Json, Path } from '../../../src/agents/catalogue/json-value.ts'

/** The expected value of the file after an edit. */
export function withValue(old: Json | undefined, path: Path, put: Json | undefined): unknown {
  const top = JSON.parse(JSON.stringify(old ?? {}))
  let at = top
  for (const step of path.slice(0, -1) as string[]) {
    at[step] ??= {}
    at = at[step]
  }
  const name = path.at(-1) as string
  if (put === undefined) delete at[name]
  else at[name] = put
  return top
}

/** As text, without containers that may be removed or kept when empty. */
export function withoutEmpty(value: Json | undefined): string {
  const text = JSON.stringify(value ?? {}).replace(/"inner":{}/, '')
  return text.replace(/,?"(?:mcpServers|deep)":{}/g, '').replace('{,', '{')
}

const END = 17

/** Names, values, punctuation and comments, without the white space between them. */
export function tokensOf(text: string): string[] {
  const starts = [0, ...tokenEnds(text)]
  return starts.slice(0, -1).map((start, index) => text.slice(start, starts[index + 1]).trim())
}

/** The end offset of each token. */
export function tokenEnds(text: string): number[] {
  const shift = text.startsWith('\ufeff') ? 1 : 0
  const scanner = createScanner(text.slice(shift), false)
  const ends: number[] = []
  while (scanner.scan() !== END) {
    const end = scanner.getPosition() + shift
    if (text.slice(end - scanner.getTokenLength(), end).trim() !== '') ends.push(end)
  }
  return ends
}

export function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  let found = 0
  for (const each of all) if (each === some[found]) found += 1
  return found === some.length
}

/** The number of lines of one text that are missing in the other, in this order. */
export function linesLost(text: string, other: string): number {
  const [mine, theirs] = [text.split('\n'), other.split('\n')]
  while (mine.length > 0 && mine[0] === theirs[0]) [mine.shift(), theirs.shift()]
  while (mine.length > 0 && mine.at(-1) === theirs.at(-1)) [mine.pop(), theirs.pop()]
  let row = theirs.map(() => 0)
  for (const line of mine) {
    const next: number[] = []
    for (const [at, their] of theirs.entries()) {
      next.push(line === their ? (row[at - 1] ?? 0) + 1 : Math.max(row[at] ?? 0, next[at - 1] ?? 0))
    }
    row = next
  }
  return mine.length - (row.at(-1) ?? 0)
}

/** All comments except those inside the entry and behind it on its last line. Each generated comment is unique. */
export function commentsToKeep(text: string, path: Path): string[] {
  const body = text.replace('\ufeff', '')
  const root = parseTree(body, [], { allowTrailingComma: true })
  const member = root && findNodeAtLocation(root, path.map(String))?.parent
  if (member === undefined) throw new Error('the entry is missing in the test data')
  const before = body.slice(0, member.offset)
  const behind = body.slice(member.offset + member.length)
  const below = behind.includes('\n') ? behind.slice(behind.indexOf('\n')) : ''
  return `${before}${below}`.match(/c\d+;/g) ?? []
}
