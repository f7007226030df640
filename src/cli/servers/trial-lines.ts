import { shortPath } from '../agents/file-change.ts'
import type { Schemas } from '../frame/typed-api.ts'
import { type Line, toned } from '../output/line.ts'
import { counted } from '../output/units.ts'
import { hanging } from '../output/wrap.ts'
import { type Confinement, isolationText, placeText } from './isolation.ts'
import { helpOf } from './isolation-help.ts'
import type { StdioServer } from './state.ts'

export type Report = Schemas['WallsTrialReport']
export type Call = NonNullable<Schemas['WallsTrialInput']['calls']>[number]

export interface Tried {
  readonly server: StdioServer
  readonly calls: readonly Call[]
  /** The last trial, with what was refused in all of them. */
  readonly report: Report
  /** The isolation that allow what was refused. */
  readonly confinement: Confinement
  /** The server with this isolation, if they were kept. */
  readonly kept: StdioServer | undefined
  /** The command that puts the server with this isolation. Undefined if it is. */
  readonly command: string | undefined
}

/** What a trial found, in plain words. */
export function trialLines(tried: Tried, width: number | undefined): Line[] {
  const { server, calls, report, confinement } = tried
  const signed = (ok: boolean, text: string): Line[] => {
    const [first = '', ...more] = hanging('  ', text, width)
    return [[ok ? toned('ok', '✓') : toned('err', '✕'), first.slice(1)], ...more]
  }
  const place = placeText(report.isolation, confinement.isolation_options.image)
  const why = (report.error?.message ?? '').replace(/^The server was not started: /, '')
  const missed = calls.slice(report.calls.length).map(({ tool }) => `- ${tool} was not called`)
  return [
    ...(report.ok
      ? signed(true, `${server.name} started ${place}: ${counted(report.tools.length, 'tool')}`)
      : signed(false, `${server.name} did not start ${place}${why === '' ? '' : `: ${why}`}`)),
    ...report.calls.flatMap(({ tool, ok, text }) => signed(ok, `${tool}: ${firstLine(text)}`)),
    ...missed,
    ...refusedLines(report, signed, width),
    ...lostLines(report, width),
    ...endLines(tried, width),
  ]
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? ''

function refusedLines(
  { isolation, refused, ok }: Report,
  signed: (ok: boolean, text: string) => Line[],
  width: number | undefined,
): Line[] {
  if (isolation === 'none') return []
  const unseen = 'What it did not try was not seen: it may need more than this.'
  const errors = refused.filter(({ seen_in }) => seen_in === 'errors')
  if (errors.length === 0)
    return ok ? hanging('', `The isolation refused nothing that it tried. ${unseen}`, width) : []
  return [
    'According to its own errors, the isolation refused it:',
    ...errors.flatMap(({ kind, path, evidence }) => [
      ...signed(false, kind === 'network' ? 'the network' : `to ${VERBS[kind]} ${shortPath(path ?? '')}`),
      ...hanging('    ', evidence, width),
    ]),
    ...hanging('', unseen, width),
  ]
}

const SHOWN_FILES = 5

/** What it wrote without an error, and does not find again. */
function lostLines({ lost_files, lost_file_count, refused }: Report, width: number | undefined): Line[] {
  if (lost_files.length === 0) return []
  const shown = lost_files.slice(0, SHOWN_FILES)
  const more = lost_file_count - shown.length
  const isSuggested = refused.some(({ seen_in }) => seen_in === 'lost_files')
  return [
    ...hanging('', 'It wrote files in memory only. They are lost when it ends:', width),
    ...shown.flatMap((path) => hanging('    ', path, width)),
    ...(more > 0 ? [`    and ${counted(more, 'other file')}`] : []),
    ...(isSuggested ? [] : hanging('', 'To keep such files, name their folder with --write.', width)),
  ]
}

const VERBS = { read: 'read', write: 'change' } as const

function endLines({ server, report, confinement, kept, command }: Tried, width: number | undefined): Line[] {
  const { name, id } = server
  if (kept) {
    const waits = kept.restart_needed ? ` after toolroom restart ${id}` : ''
    return hanging('', `Changed: ${name} runs ${isolationText(kept)}${waits}.`, width)
  }
  if (!report.ok && report.refused.length === 0)
    return [
      ...(report.error
        ? helpOf(report.error, server, confinement).flatMap((line) => hanging('', line, width))
        : []),
      'Nothing was changed.',
    ]
  if (command === undefined) return [`${name} runs with this isolation already.`]
  const does =
    report.refused.length === 0 ? 'This puts it with this isolation' : 'This opens the isolation for it'
  return [`Nothing was changed. ${does}:`, `  ${command}`]
}
