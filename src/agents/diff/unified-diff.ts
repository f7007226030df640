import { type Change, compare } from '../../kernel/list-diff.ts'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'
import { maskLine, type VisibleText } from './masked-diff.ts'

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
  const masked = changes.map(({ text }) => (text === NO_END ? text : maskLine(text, visible)))
  const lines = alike(changes, masked).map((text, at) =>
    text === NO_END ? text : SIGN[changes[at]?.kind ?? 'same'] + text,
  )
  const count = (without: Change['kind']) =>
    changes.filter(({ kind, text }) => kind !== without && text !== NO_END).length
  const range = (first: number, length: number) => `${length === 0 ? first : first + 1},${length}`
  return [`@@ -${range(before, count('added'))} +${range(after, count('removed'))} @@`, ...lines].join('\n')
}

/** A line with one value. Longer ones are minified files, and would take long. */
const ONE_VALUE = /^(\s*(?:"([^"]*)"|([\w.-]+))\s*[:=]\s*)([^\s[{].*?)(,?\s*)$/
const LONGEST = 2000
const HIDDEN_VALUE = /^(["']?)\*\*\*\1$/

/** A value that is hidden in the old or in the new lines of a change is hidden in both: `8080` and `"8080"` are one secret. */
function alike(changes: readonly Change[], masked: readonly string[]): string[] {
  const shown = [...masked]
  let run: number[] = []
  const end = () => {
    const short = run.filter((at) => (shown[at] ?? '').length <= LONGEST)
    const hidden = new Set<string>()
    for (const at of short) {
      const [, , quoted, plain, value = ''] = ONE_VALUE.exec(shown[at] ?? '') ?? []
      if (HIDDEN_VALUE.test(value)) hidden.add(quoted ?? plain ?? '')
    }
    for (const at of hidden.size > 0 ? short : [])
      shown[at] = (shown[at] ?? '').replace(ONE_VALUE, (line, key, quoted, plain, value, rest) =>
        hidden.has(quoted ?? plain) && !HIDDEN_VALUE.test(value) ? `${key}"${MASK}"${rest}` : line,
      )
    run = []
  }
  for (const [at, { kind }] of changes.entries()) {
    if (kind === 'same') end()
    else run.push(at)
  }
  end()
  return shown
}
