import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { Agent, newKey, type Reply, textOf } from '../support/gateway.ts'
import { type Moment, moment, ownMs } from '../support/measuring.ts'
import { inParallel } from '../support/raw-http.ts'
import { post, register, until } from '../support/running-servers.ts'
import { openTestService, type TestService } from '../support/test-service.ts'

/** Enough in the short form to kill each of the servers once. */
const CALLS = runs(400, 1000, 10_000)
/** One in this many calls loses its server. */
const KILL_EVERY = 100
const IN_FLIGHT = 32
const SERVERS = ['one', 'two', 'three', 'four']
const MAX_ERROR_MS = 1000
/** Duration of a call that is pending when its server is killed. */
const LONG_MS = 60_000

interface Outcome {
  readonly sent: string
  readonly server: string
  readonly reply: Reply
  readonly answered: Moment
}

test.runIf(process.platform === 'linux')(
  `R26: tool servers are killed during ${CALLS} calls through the gateway, and each call gets exactly one response, its own`,
  async () => {
    const [service, folder] = [await openTestService(), ownFolder()]
    for (const name of SERVERS) await addServers(service, name)
    const agents = await openAgents(service)
    const deaths: { readonly server: string; readonly died: Moment }[] = []
    const outcomes: Outcome[] = []

    await inParallel([...Array(CALLS).keys()], IN_FLIGHT, async (n) => {
      const agent = agents[n % agents.length] as Agent
      // Not in step with the agents, so that each agent calls every server.
      const server = SERVERS[Math.floor(n / agents.length) % SERVERS.length] as string
      const sent = `call ${n} of ${server}`
      const kills = n % KILL_EVERY === KILL_EVERY / 2
      const file = join(folder, String(n))
      const long = { text: sent, ms: LONG_MS, file }
      const answer = agent.call(`${server}__say`, kills ? long : { text: sent, ms: n % 7 })
      if (kills) {
        await expect.poll(() => existsSync(file)).toBe(true) // the server has received it
        deaths.push({ server, died: await kill(service, server) })
      }
      outcomes.push({ sent, server, reply: await answer, answered: moment() })
    })

    const own = outcomes.filter(({ reply, sent }) => textOf(reply.answers[0]) === sent)
    const errors = outcomes.filter(({ reply }) => reply.answers[0]?.error)
    const unanswered = outcomes.filter(({ reply }) => reply.answers.length === 0)
    const doubled = outcomes.filter(({ reply }) => reply.answers.length > 1)
    const strangers = outcomes.flatMap(({ reply }) => reply.messages.slice(reply.answers.length))
    const misrouted = outcomes.length - own.length - errors.length - unanswered.length
    const lost = errors.map(({ reply, server, answered }) => {
      const since = deaths.filter((each) => each.server === server).map(({ died }) => ownMs(died, answered))
      return { message: reply.answers[0]?.error?.message ?? '', ms: Math.round(Math.min(...since)) }
    })
    const slowest = Math.max(0, ...lost.map(({ ms }) => ms))
    console.log(
      `${outcomes.length} calls, ${deaths.length} kills: ${own.length} results, ${errors.length} errors within ` +
        `${slowest} ms, ${misrouted} misrouted, ${unanswered.length} unanswered, ` +
        `${doubled.length} doubled`,
    )
    expect({ misrouted, unanswered, doubled, strangers }).toEqual({
      misrouted: 0,
      unanswered: [],
      doubled: [],
      strangers: [],
    })
    expect(deaths).toHaveLength(CALLS / KILL_EVERY)
    expect(errors.length, 'calls were pending').toBeGreaterThan(0)
    figure('R26', 'calls with exactly one response, their own', own.length + errors.length, {
      exactly: CALLS,
    })
    figure('R26', 'slowest error after the exit of a server, ms', slowest, { most: MAX_ERROR_MS })
    // Only pending calls are lost: later calls wait until the server is restarted.
    expect(
      lost.filter(({ message }) => !message.endsWith('failed: the server ended before it answered')),
    ).toEqual([])
    expect(agents.flatMap(({ received }) => received.filter(({ id }) => id !== undefined))).toEqual([])
  },
  FULL ? 1_800_000 : 600_000,
)

/** Half of the servers are on demand with a short idle timeout. The tools of all are known. */
async function addServers(service: TestService, name: string): Promise<void> {
  const sleeps = SERVERS.indexOf(name) % 2 === 0
  await register(service, 'later', [], {
    name,
    ...(sleeps && { start_mode: 'on_demand', idle_timeout_s: 1 }),
    restart: { max_delay_s: 1 }, // the policy allows six starts a minute regardless of the delay
    timeouts: { start_s: 30, stop_s: 1, request_s: 300 },
  })
  await post(service, `/api/servers/${name}/start`)
  if (sleeps) await until(service, name, ({ status }) => status === 'idle')
}

/** Two agents of each era, two of them with the same key; each numbers its requests from 0. */
async function openAgents(service: TestService): Promise<Agent[]> {
  const [first, second, third] = [
    await newKey(service),
    await newKey(service, 'codex'),
    await newKey(service),
  ]
  return [
    await Agent.open(service, first, 'legacy'),
    await Agent.open(service, second, 'modern'),
    await Agent.open(service, second, 'legacy'),
    await Agent.open(service, third, 'modern'),
  ]
}

/** Kills the server as soon as it runs. Returns when. */
async function kill(service: TestService, server: string): Promise<Moment> {
  const { pid } = await until(service, server, (each) => each.status === 'running', 120_000)
  process.kill(pid ?? 0, 'SIGKILL')
  return moment()
}
