import { counted } from '../run/human-readable.ts'
import { type Line, type Span, type Tone, toned, widthOf } from '../run/printed-line.ts'

/** `problem`: something does not work. `hint`: it works, and needs attention. `none`: missing, and not needed. */
type Level = 'ok' | 'none' | 'hint' | 'problem'

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

const finding =
  (level: Level) =>
  (text: string, see?: string, fixes?: readonly Fix[]): Finding => ({
    level,
    text,
    ...(see && { see }),
    ...(fixes && { fixes }),
  })
export const ok = finding('ok')
export const none = finding('none')
export const hint = finding('hint')
export const problem = finding('problem')

const SIGNS: Readonly<Record<Level, readonly [sign: string, tone: Tone]>> = {
  ok: ['✓', 'ok'],
  none: ['-', 'dim'],
  hint: ['!', 'warn'],
  problem: ['✕', 'err'],
}
const INDENT = 11
const GAP = '   '
/** Without a terminal. */
const WIDTH = 110

/** What is fine side by side, then a line for everything that is not. */
export function sectionLines({ name, findings }: Section, width?: number): Line[] {
  const room = (width ?? WIDTH) - INDENT
  const isQuiet = ({ level, text }: Finding) =>
    (level === 'ok' || level === 'none') && (width === undefined || widthOf(text) + 2 <= room)
  const others = findings.filter((finding) => !isQuiet(finding))
  const rows = [
    ...flowed(findings.filter(isQuiet), room),
    ...others.flatMap((finding) => (width === undefined ? [spansOf(finding)] : wrapped(finding, room))),
  ]
  return rows.map((spans, at): Line => [toned('strong', (at === 0 ? name : '').padEnd(INDENT)), ...spans])
}

/** As many on a line as fit. */
function flowed(findings: readonly Finding[], width: number): Span[][] {
  const rows: Span[][] = []
  let used = width
  for (const finding of findings) {
    const own = widthOf(finding.text) + 2
    const last = rows.at(-1)
    if (last && used + GAP.length + own <= width) last.push(GAP, ...spansOf(finding))
    else rows.push(spansOf(finding))
    used = rows.at(-1) === last ? used + GAP.length + own : own
  }
  return rows
}

/** On a terminal: lines that end between words. What to type is on a line of its own if it does not fit. */
function wrapped({ level, text, see }: Finding, width: number): Span[][] {
  const [sign, tone] = SIGNS[level]
  const lines = broken(text, width - 2)
  const rows = lines.map((line, at): Span[] => (at === 0 ? [toned(tone, sign), ` ${line}`] : [`  ${line}`]))
  if (see === undefined) return rows
  const shown = `see: ${see}`
  const isFitting = widthOf(`${lines.at(-1)}${GAP}${shown}`) + 2 <= width
  if (isFitting) rows.at(-1)?.push(toned('dim', `${GAP}${shown}`))
  else for (const line of broken(shown, width - 2)) rows.push([toned('dim', `  ${line}`)])
  return rows
}

/** Lines that end between words. A word that does not fit is a line of its own. */
function broken(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last === '') lines[lines.length - 1] = word
    else if (widthOf(`${last} ${word}`) <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function spansOf({ level, text, see }: Finding): Span[] {
  const [sign, tone] = SIGNS[level]
  return [toned(tone, sign), ` ${text}`, ...(see === undefined ? [] : [toned('dim', `${GAP}see: ${see}`)])]
}

export const fixLines = (fixes: readonly Applied[], isDry: boolean, width?: number): Line[] => [
  ...fixes.flatMap(({ does, undo, error }): Line[] => {
    const level = error === null ? 'ok' : 'problem'
    const would = `Would ${does.charAt(0).toLowerCase()}${does.slice(1)}. Undo: ${undo}`
    const text = error === null ? `${does}. Undo: ${undo}` : `${does}: ${error}`
    if (isDry) return width === undefined ? [would] : broken(would, width)
    return width === undefined ? [spansOf({ level, text })] : wrapped({ level, text }, width)
  }),
  ...(isDry ? ['Nothing was changed (--dry-run).'] : []),
]

/** `3 problems, 4 hints. toolroom doctor --fix can repair 2 of them.` */
export function summary(problems: number, hints: number, fixable: number): string {
  const found = [
    problems === 0 ? 'No problems' : counted(problems, 'problem'),
    ...(hints === 0 ? [] : [counted(hints, 'hint')]),
  ].join(', ')
  return fixable === 0 ? `${found}.` : `${found}. toolroom doctor --fix can repair ${fixable} of them.`
}
