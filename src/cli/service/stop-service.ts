import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Instance, runningInstance } from '../../kernel/config/find-running-instance.ts'
import { dryRun, type Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import type { Api } from '../run/service-client.ts'

const STOPPED_MS = 30_000
const POLL_MS = 50

/** `toolroom down`: stops the service and all its servers. */
export const down: Run = async ({ api, service, config, given, during }) => {
  const { address } = service
  if (given.is('dry-run')) return dryRun({ address }, [`Would stop the Toolroom at ${address}`])
  const data = given.flag('url') === undefined ? config.folders.data : undefined
  const instance = await during('Stopping', stopService(api, data))
  const who = instance
    ? `Toolroom (process ${instance.pid}) has stopped`
    : `The Toolroom at ${address} is stopping`
  return {
    json: { address, pid: instance?.pid ?? null, status: instance ? 'stopped' : 'stopping' },
    lines: [who],
    next: 'next: toolroom up --detach',
  }
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
