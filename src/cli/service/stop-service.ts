import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Instance, runningInstance } from '../../kernel/config/find-running-instance.ts'
import { dryRun, type Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { shortPath } from '../run/human-readable.ts'
import type { Api } from '../run/service-client.ts'
import { agentsWithGateway, connectedAgents, namesOf } from './starting-agents.ts'

const STOPPED_MS = 30_000
const POLL_MS = 50

/** `toolroom down`: stops the service and all its servers. */
export const down: Run = async ({ api, service, config, given, mainFile, during }) => {
  const { address } = service
  const data = given.flag('url') === undefined ? config.folders.data : undefined
  const agents = data === undefined ? [] : await agentsWithGateway(api).catch(() => []) // it must end anyway
  const { starting } = connectedAgents(agents, config, mainFile)
  const started_by = starting.map(({ agent_type }) => agent_type)
  const again = starting.length === 0 || data === undefined ? [] : startedAgain(starting, data)
  if (given.is('dry-run'))
    return dryRun({ address, started_by }, [`Would stop the Toolroom at ${address}`, ...again])
  const instance = await during('Stopping', stopService(api, data))
  const who = instance
    ? `Toolroom (process ${instance.pid}) has stopped`
    : `The Toolroom at ${address} is stopping`
  return {
    json: { address, pid: instance?.pid ?? null, status: instance ? 'stopped' : 'stopping', started_by },
    lines: [who, ...again],
    next: 'next: toolroom up --detach',
  }
}

function startedAgain(agents: Parameters<typeof namesOf>[0], data: string): string[] {
  const [start, their] = agents.length === 1 ? ['starts', 'its'] : ['start', 'their']
  const file = shortPath(join(data, 'config.json'))
  return [
    `${namesOf(agents)} ${start} it again with ${their} next call. To prevent that:`,
    '  toolroom agents disconnect --all',
    `  or "agents_start_service": false in ${file}`,
  ]
}

/** Asks the service to end, and waits until the process of this data folder has. Undefined for one on another computer. */
export async function stopService(api: Api, data: string | undefined): Promise<Instance | undefined> {
  const instance = data === undefined ? undefined : runningInstance(data)
  await api.post('/api/shutdown')
  const deadline = performance.now() + STOPPED_MS
  while (instance && isAlive(instance.pid)) {
    if (performance.now() > deadline)
      throw new Failure(
        'timeout',
        `Toolroom (process ${instance.pid}) has not ended within ${STOPPED_MS / 1000} s`,
        null,
      )
    await sleep(POLL_MS)
  }
  return instance
}

/** A process that has ended and that its parent has not asked about (a zombie) is not alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false // there is no such process
  }
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux' // it has just ended, or the system has no /proc
  }
}
