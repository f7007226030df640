import { type Answer, emptyList, exitOf, type Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { bytes, elapsed } from '../run/human-readable.ts'
import { signed } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

type Leaked = Schemas['LeakedProcess']

/** `toolroom orphans [PID...] [--end]` */
export const orphans: Run = async ({ api, given, confirm, during, note }) => {
  const items = chosen((await api.get('/api/processes/orphans')).items, given.words('PID'))
  if (items.length === 0) return emptyList({ items }, 'No leaked processes.')
  const memory = bytes(items.reduce((sum, { rss_bytes }) => sum + rss_bytes, 0))
  const summary = `${items.length} leaked ${items.length === 1 ? 'process' : 'processes'} with ${memory}`
  if (!given.is('end') || given.is('dry-run'))
    return { ...listed(items), next: `${summary}. End them: toolroom orphans --end` }
  for (const { pid, command } of items) note(`${pid}  ${command}`)
  await confirm(`End ${summary}?`)
  const ended = await during('Ending processes', Promise.all(items.map((item) => endedOf(item))))
  const failed = ended.filter(({ problem }) => problem !== null).length
  return {
    json: { items: ended },
    lines: ended.map(({ pid, command, problem }) =>
      problem === null ? signed('ok', `${pid}  ${command}`) : signed('err', `${pid}  ${command}: ${problem}`),
    ),
    plain: ended.map(({ pid, problem }) => [pid, problem ?? 'ended']),
    exit: exitOf(failed, items.length),
  }

  async function endedOf(item: Leaked): Promise<Leaked & { problem: string | null }> {
    try {
      await api.delete('/api/processes/orphans/{id}', { path: { id: item.id } })
      return { ...item, problem: null }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      // It has ended by itself meanwhile.
      return { ...item, problem: error.exit === 'not_found' ? null : error.message }
    }
  }
}

function chosen(items: readonly Leaked[], pids: readonly string[]): readonly Leaked[] {
  const missing = pids.find((pid) => !items.some((item) => String(item.pid) === pid))
  if (missing !== undefined) throw new Failure('not_found', `No leaked process has the pid ${missing}`, null)
  return pids.length === 0 ? items : items.filter(({ pid }) => pids.includes(String(pid)))
}

const listed = (items: readonly Leaked[]): Answer => ({
  json: { items },
  table: {
    head: ['PID', 'AGE', 'MEMORY', 'PROCESSES', 'OWNER', 'COMMAND'],
    rows: items.map(({ pid, age_s, rss_bytes, processes, owner, command }) => [
      pid,
      elapsed(age_s),
      bytes(rss_bytes),
      processes,
      owner,
      command,
    ]),
  },
})
