import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { Agent, newKey, type Reply, textOf } from '../support/gateway.ts'
import { type House, openHouse } from '../support/house.ts'
import { inParallel } from '../support/raw-http.ts'
import { post, register, until } from '../support/running.ts'

const FULL = process.env.TOOLROOM_GOALS === 'full'
const CALLS = FULL ? 10_000 : 1000
/** One call in so many loses its server. */
const KILL_EVERY = 100
const IN_FLIGHT = 32
const SERVERS = ['one', 'two', 'three', 'four']
const MAX_ERROR_MS = 1000
/** How long a call takes that is to be under way when its server dies. */
const LONG_MS = 300

interface Outcome {
  readonly said: string
  readonly server: string
  readonly reply: Reply
  readonly answeredAt: number
}

test.runIf(process.platform === 'linux')(
  `R26: tool servers are killed during ${CALLS} calls through the gateway, and each gets one answer, its own`,
  async () => {
    const house = await openHouse()
    for (const name of SERVERS) await furnish(house, name)
    const agents = await openAgents(house)
    const lag = monitorEventLoopDelay({ resolution: 10 })
    lag.enable()
    const deaths: { readonly server: string; readonly at: number }[] = []
    const outcomes: Outcome[] = []

    await inParallel([...Array(CALLS).keys()], IN_FLIGHT, async (n) => {
      const agent = agents[n % agents.length] as Agent
      // Not in step with the agents, so that each agent calls each server.
      const server = SERVERS[Math.floor(n / agents.length) % SERVERS.length] as string
      const said = `call ${n} of ${server}`
      const kills = n % KILL_EVERY === KILL_EVERY / 2
      const answer = agent.call(`${server}__say`, { text: said, ms: kills ? LONG_MS : n % 7 })
      if (kills) deaths.push({ server, at: await kill(house, server) })
      outcomes.push({ said, server, reply: await answer, answeredAt: performance.now() })
    })

    const own = outcomes.filter(({ reply, said }) => textOf(reply.answers[0]) === said)
    const errors = outcomes.filter(({ reply }) => reply.answers[0]?.error)
    const unanswered = outcomes.filter(({ reply }) => reply.answers.length === 0)
    const doubled = outcomes.filter(({ reply }) => reply.answers.length > 1)
    const strangers = outcomes.flatMap(({ reply }) => reply.messages.slice(reply.answers.length))
    const misrouted = outcomes.length - own.length - errors.length - unanswered.length
    const lost = errors.map(({ reply, server, answeredAt }) => {
      const since = deaths.filter((each) => each.server === server).map(({ at }) => Math.abs(answeredAt - at))
      return { message: reply.answers[0]?.error?.message ?? '', ms: Math.round(Math.min(...since)) }
    })
    const slowest = Math.max(0, ...lost.map(({ ms }) => ms))
    const lateMs = Math.round(lag.max / 1_000_000)
    console.log(
      `${outcomes.length} calls, ${deaths.length} kills: ${own.length} results, ${errors.length} errors within ` +
        `${slowest} ms, ${misrouted} misrouted, ${unanswered.length} unanswered, ` +
        `${doubled.length} doubled; this process was late by ${lateMs} ms at most`,
    )
    expect({ misrouted, unanswered, doubled, strangers }).toEqual({
      misrouted: 0,
      unanswered: [],
      doubled: [],
      strangers: [],
    })
    expect(own.length + errors.length).toBe(CALLS)
    expect(deaths).toHaveLength(CALLS / KILL_EVERY)
    expect(errors.length, 'calls were under way').toBeGreaterThan(0)
    // Beside other tests this process, in which agents and gateway are, may get no time for a while.
    const mostMs = MAX_ERROR_MS + (FULL ? 0 : lateMs)
    expect(lost.filter(({ ms }) => ms > mostMs)).toEqual([])
    // Only what was under way is lost: whoever comes later waits until the server is back.
    expect(lost.filter(({ message }) => !message.endsWith('was lost: the server ended'))).toEqual([])
    expect(agents.flatMap(({ received }) => received.filter(({ id }) => id !== undefined))).toEqual([])
  },
  FULL ? 1_800_000 : 120_000,
)

/** Half of them sleep whenever they can, and are woken by calls. All of their tools are known. */
async function furnish(house: House, name: string): Promise<void> {
  const sleeps = SERVERS.indexOf(name) % 2 === 0
  await register(house, 'later', [], {
    name,
    ...(sleeps && { start_mode: 'on_demand', idle_timeout_s: 1 }),
    restart: { max_delay_s: 1 }, // the policy lets six starts in a minute through, however short the pause
    timeouts: { start_s: 30, stop_s: 1, request_s: 300 },
  })
  await post(house, `/api/servers/${name}/start`)
  if (sleeps) await until(house, name, ({ status }) => status === 'idle')
}

/** Two of each era, two of them with the same key; each counts its requests from 0. */
async function openAgents(house: House): Promise<Agent[]> {
  const [first, second, third] = [await newKey(house), await newKey(house, 'codex'), await newKey(house)]
  return [
    await Agent.open(house, first, 'legacy'),
    await Agent.open(house, second, 'modern'),
    await Agent.open(house, second, 'legacy'),
    await Agent.open(house, third, 'modern'),
  ]
}

/** As soon as it runs. Says when. */
async function kill(house: House, server: string): Promise<number> {
  const { pid } = await until(house, server, (each) => each.status === 'running', 120_000)
  process.kill(pid ?? 0, 'SIGKILL')
  return performance.now()
}
