import { readFileSync } from 'node:fs'
import { runningInstance } from '../../kernel/config/running-instance.ts'
import type { Context } from '../run/context.ts'
import type { Api } from '../run/service-client.ts'
import { bytes, counted } from '../run/units.ts'
import { allServers, needsHelp } from '../servers/any-server.ts'

import { type Finding, hint, ok, problem } from './finding.ts'

export const NOT_RUNNING: Finding = hint(
  'The service is not running, so the servers were not checked',
  'toolroom up',
)

/** The service itself, its token, and which servers do not work. */
export async function toolroomFindings({ service, given, config }: Context, api: Api): Promise<Finding[]> {
  const [health, servers, { items: notices }] = await Promise.all([
    api.get('/api/health'),
    allServers(api),
    api.get('/api/notices', { query: { state: 'open' } }),
  ])
  const pid = given.flag('url') === undefined ? runningInstance(config.folders.data)?.pid : undefined
  const failing = health.checks.filter((check) => !check.ok)
  const weak = notices.find(({ kind }) => kind === 'weak_token')
  const settings = notices.filter(({ kind }) => kind === 'settings')
  const troubled = servers.filter(needsHelp)
  const at = `service ${health.version} at ${service.address}`
  return [
    ok(pid === undefined ? at : `${at}, process ${pid}${memoryOf(pid)}`),
    ...(failing.length === 0 ? [ok('database, logs and disk')] : []),
    ...failing.map(({ name, detail }) => problem(`${name}: ${detail ?? 'does not work'}`)),
    weak ? hint(weak.text, 'toolroom token rotate') : ok('token is random'),
    ...settings.map(({ text }) => hint(text)),
    ...(troubled.length === 0 && servers.length > 0
      ? [ok(`${counted(servers.length, 'server')} without problems`)]
      : []),
    ...troubled.map(({ id, name, health: { summary } }) =>
      problem(`${name}: ${summary}`, `toolroom why ${id}`),
    ),
  ]
}

/** `, 71M`; empty where the system has no /proc. */
function memoryOf(pid: number): string {
  try {
    const kibibytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
    return Number.isFinite(kibibytes) ? `, ${bytes(kibibytes * 1024)}` : ''
  } catch {
    return ''
  }
}
