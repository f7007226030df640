import { resolve } from 'node:path'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import { isObject } from '../../kernel/is-object.ts'
import type { Answer, Run } from '../run/context.ts'
import { Failure, usage } from '../run/failure.ts'
import { type Line, type Tone, toned } from '../run/line.ts'
import type { Schemas } from '../run/service-client.ts'
import { piped, readSecret } from '../run/stdin.ts'

type Report = Schemas['FileImportReport']
type Outcome = Report['items'][number]['outcome']

const MAX_BYTES = 16 * 1_048_576

/** `toolroom import FILE` */
export const importFile: Run = async ({ api, given, during }) => {
  const file = parsed(await textOfFile(given.word('FILE')), given.word('FILE'))
  const isDry = given.is('dry-run')
  const passphrase = file.secrets === null ? undefined : await readSecret('Passphrase of the secrets')
  const body = {
    file,
    dry_run: isDry,
    on_conflict: given.is('update') ? ('update' as const) : ('skip' as const),
    ...(passphrase !== undefined && { passphrase }),
  }
  return shown(await during('Importing', api.post('/api/import', { body })))
}

async function textOfFile(name: string): Promise<string> {
  if (name === '-') return piped(MAX_BYTES, 'The file is too large')
  const path = resolve(name)
  try {
    return readForeign(path, MAX_BYTES).bytes.toString('utf8')
  } catch (error) {
    const isMissing = isObject(error) && error.code === 'ENOENT'
    if (isMissing) throw new Failure('not_found', `There is no file ${path}`, null)
    throw new Failure(
      'failed',
      `Cannot read ${path}: ${error instanceof Error ? error.message : error}`,
      null,
    )
  }
}

function parsed(text: string, name: string): Schemas['ExportFile'] {
  const wrong = usage(`${name} is not a file from toolroom export`, null)
  try {
    const file: unknown = JSON.parse(text)
    if (!isObject(file) || file.format !== 'toolroom-export') throw wrong
    return file as Schemas['ExportFile'] // the service checks the rest
  } catch {
    throw wrong
  }
}

function shown(report: Report): Answer {
  const parts = [
    ['server', report.items],
    ['secret', report.secrets],
    ['agent', report.agents],
    ['preset', report.presets],
  ] as const
  const all = parts.flatMap(([kind, items]) => items.map((item) => ({ kind, ...item })))
  const refused = all.filter(({ outcome }) => outcome === 'refused').length
  return {
    json: report,
    lines: [
      ...all.map(({ kind, name, outcome, reason, notes }): Line => {
        const more = [reason, ...notes].filter(Boolean).join('. ')
        return [toned(TONES[outcome], outcome.padEnd(10)), `${kind} ${name}${more === '' ? '' : `: ${more}`}`]
      }),
      ...(all.length === 0 ? ['The file is empty.'] : []),
      ...(report.dry_run ? ['Nothing was changed (--dry-run).'] : []),
    ],
    plain: all.map(({ kind, name, outcome, reason }) => [kind, name, outcome, reason]),
    exit: refused === 0 ? undefined : refused === all.length ? 'failed' : 'partly_done',
    next: report.dry_run ? undefined : 'next: toolroom ls',
  }
}

const TONES: Partial<Record<Outcome, Tone>> = {
  created: 'ok',
  updated: 'ok',
  refused: 'err',
  unchanged: 'dim',
  exists: 'dim',
}
