import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { writeDurably } from '../../kernel/files/durable-file.ts'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { slugOf } from '../../kernel/rest-parts.ts'
import { type Answer, dryRun, exitOf, type Run } from '../run/command-context.ts'
import { Failure, usage } from '../run/failure.ts'
import { counted } from '../run/human-readable.ts'
import { type Line, type Tone, toned } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'
import { piped, readSecret } from '../run/stdin.ts'
import { allowedBy, outgoingLines } from '../servers/allow.ts'

type Report = Schemas['FileImportReport']
type Outcome = Report['items'][number]['outcome']

const TIMEOUT_MS = 60_000
const MAX_BYTES = 16 * 1_048_576

/** `toolroom export FILE` */
export const exportToFile: Run = async ({ service, given, during }) => {
  const name = given.word('FILE')
  const path = resolve(name)
  if (name !== '-' && existsSync(path) && !given.is('force'))
    throw new Failure('conflict', `${path} exists`, 'Choose another name, or add --force', 'file_exists')
  const hasSecrets = given.is('include-secrets')
  const headers = hasSecrets ? { 'x-export-passphrase': await readSecret('Passphrase for the secrets') } : {}
  const request = service.request(
    'GET',
    `/api/export${hasSecrets ? '?include_secrets=true' : ''}`,
    undefined,
    TIMEOUT_MS,
    headers,
  )
  const file = (await during('Exporting', request)) as Schemas['ExportFile']
  const text = JSON.stringify(file, null, 2)
  if (name === '-') return { json: file, lines: text.split('\n') }
  const { servers, agents, presets, named_secrets } = file
  const contents = [
    counted(servers.length, 'server'),
    counted(agents.length, 'agent'),
    counted(presets.length, 'preset'),
    file.secrets === null ? 'no secrets' : 'secrets, encrypted',
  ].join(', ')
  const json = {
    path,
    servers: servers.length,
    agents: agents.length,
    presets: presets.length,
    named_secrets: named_secrets.length,
    secrets: file.secrets !== null,
  }
  if (given.is('dry-run')) return dryRun(json, [`Would write ${path}: ${contents}`])
  save(path, `${text}\n`)
  return {
    json,
    lines: [`Wrote ${path}: ${contents}`],
    plain: [[path]],
    next: `next: toolroom import ${name} --dry-run`,
  }
}

function save(path: string, text: string): void {
  try {
    writeDurably(path, text, 0o600)
  } catch (error) {
    throw new Failure(
      'failed',
      `Cannot write ${path}: ${error instanceof Error ? error.message : error}`,
      null,
    )
  }
}

/** `toolroom import FILE` */
export const importFile: Run = async (context) => {
  const { api, given, during, terminal } = context
  const file = parsed(await textOfFile(given.word('FILE')), given.word('FILE'))
  const isDry = given.is('dry-run')
  const passphrase = file.secrets === null ? undefined : await readSecret('Passphrase of the secrets')
  const body = {
    file,
    dry_run: isDry,
    on_conflict: given.is('update') ? ('update' as const) : ('skip' as const),
    ...(passphrase !== undefined && { passphrase }),
  }
  const seen = await during('Reading', api.post('/api/import', { body: { ...body, dry_run: true } }))
  if (isDry) return importedAnswer(seen, terminal.width)
  const allow_outgoing = await allowedBy(context, seen.items)
  const done = api.post('/api/import', { body: { ...body, allow_outgoing } })
  return importedAnswer(await during('Importing', done), terminal.width)
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

function importedAnswer(report: Report, width: number | undefined): Answer {
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
      ...report.items.flatMap(({ name, outgoing }) => {
        const lines = outgoingLines(outgoing, slugOf(name), width)
        return lines.length === 0 ? [] : [`${name}:`, ...lines]
      }),
      ...(all.length === 0 ? ['The file is empty.'] : []),
      ...(report.dry_run ? ['Nothing was changed (--dry-run).'] : []),
    ],
    plain: all.map(({ kind, name, outcome, reason }) => [kind, name, outcome, reason]),
    exit: exitOf(refused, all.length),
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
