import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { writeDurably } from '../../kernel/files/durable-file.ts'
import type { Run } from '../run/context.ts'
import { Failure } from '../run/failure.ts'
import type { Schemas } from '../run/service-client.ts'
import { readSecret } from '../run/stdin.ts'
import { counted } from '../run/units.ts'

const TIMEOUT_MS = 60_000

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
  if (given.is('dry-run'))
    return {
      json: { dry_run: true, ...json },
      lines: [`Would write ${path}: ${contents}`, 'Nothing was changed (--dry-run).'],
    }
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
