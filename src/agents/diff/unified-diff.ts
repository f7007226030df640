import { type Change, compare } from '../../kernel/compare.ts'
import { publicArgs, publicCommand } from '../../kernel/secrets/public-view.ts'
import { maskArgs, maskUrl } from '../../kernel/secrets/secrets.ts'
import type { Definition } from '../catalogue/server-definition.ts'
import { maskLine, type VisibleText } from './masked-line.ts'

const CONTEXT = 3

/** A unified diff; empty if the texts are equal. The function that is returned masks everything but what is visible. */
export function unifiedDiff(name: string, before: string, after: string): (visible: VisibleText) => string {
  if (before === after) return () => ''
  const hunks = hunksOf(compare(linesOf(before), linesOf(after)))
  return (visible) =>
    [
      `--- ${before === '' ? '/dev/null' : name}`,
      `+++ ${after === '' ? '/dev/null' : name}`,
      ...hunks.map((hunk) => hunkText(hunk, visible)),
      '',
    ].join('\n')
}

/** Without line ends. A missing line end after the last line is one more line. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  else lines.push(NO_END)
  return lines
}
const NO_END = '\\ No newline at end of file'

interface Hunk {
  readonly changes: readonly Change[]
  /** Lines above it in the old text. */
  readonly before: number
  /** Lines above it in the new text. */
  readonly after: number
}

function hunksOf(changes: readonly Change[]): Hunk[] {
  const near = new Set<number>()
  for (const [index, { kind }] of changes.entries()) {
    if (kind === 'same') continue
    for (let at = index - CONTEXT; at <= index + CONTEXT; at += 1) near.add(at)
  }
  const hunks: { changes: Change[]; before: number; after: number }[] = []
  let [before, after] = [0, 0]
  for (const [index, change] of changes.entries()) {
    if (near.has(index)) {
      if (!near.has(index - 1) || hunks.length === 0) hunks.push({ changes: [], before, after })
      hunks.at(-1)?.changes.push(change)
    }
    if (change.text === NO_END) continue
    if (change.kind !== 'added') before += 1
    if (change.kind !== 'removed') after += 1
  }
  return hunks
}

const SIGN = { same: ' ', removed: '-', added: '+' }

function hunkText({ changes, before, after }: Hunk, visible: VisibleText): string {
  const lines = changes.map(({ kind, text }) =>
    text === NO_END ? text : SIGN[kind] + maskLine(text, visible),
  )
  const count = (without: Change['kind']) =>
    changes.filter(({ kind, text }) => kind !== without && text !== NO_END).length
  const range = (first: number, length: number) => `${length === 0 ? first : first + 1},${length}`
  return [`@@ -${range(before, count('added'))} +${range(after, count('removed'))} @@`, ...lines].join('\n')
}

/** Values in agents' files that are never secrets. */
const KEYWORDS = [
  '*',
  'stdio',
  'local',
  'remote',
  'http',
  'sse',
  'streamable-http',
  'streamable_http',
  'streamableHttp',
  'cmd',
  '/c',
]

/**
 * What a diff may show of these servers: commands, arguments, folders and URLs, but no environment and no headers. The
 * owner, who has the token, sees more of a command.
 */
export function visibleText(
  reader: 'owner' | 'public',
  definitions: readonly Definition[],
  names: readonly string[],
): VisibleText {
  const visible = new Map([...KEYWORDS, ...names].map((word) => [word, word]))
  for (const definition of definitions) {
    if (definition.type === 'stdio') {
      const { command, args, cwd } = definition
      const words = [command, ...args]
      const shown =
        reader === 'owner' ? maskArgs(words) : [publicCommand(command), ...publicArgs(command, args)]
      for (const [index, masked] of shown.entries()) visible.set(words[index] ?? '', masked)
      if (cwd !== null) visible.set(cwd, cwd)
    } else visible.set(definition.url, maskUrl(definition.url))
  }
  // A secret may equal a string that is visible elsewhere. Then it is hidden, unless it is the name of a server.
  for (const definition of definitions) {
    const secrets = definition.type === 'stdio' ? definition.env : definition.headers
    for (const value of Object.values(secrets)) if (!names.includes(value)) visible.delete(value)
  }
  return visible
}
