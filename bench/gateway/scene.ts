import { join } from 'node:path'
import { Toolroom, type View } from '../subjects.ts'
import { ECHO, Listening, place, Worker } from './programs.ts'
import { type Agent, headersOf, initialize } from './requests.ts'

const EVERYTHING = join(process.cwd(), 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const LOOPBACK = join(process.cwd(), 'bench/gateway/loopback.cjs')

/** Closes everything that was opened in reverse order, also after a failure. */
export class Opened {
  readonly #all: { close(): Promise<void> }[] = []

  add<T extends { close(): Promise<void> }>(opened: T): T {
    this.#all.push(opened)
    return opened
  }

  async close(): Promise<void> {
    for (const each of this.#all.splice(0).reverse())
      await each.close().catch((error: unknown) => console.error('not closed:', error))
  }
}

/** An agent with an open session at a listening program. */
export interface Visited {
  readonly pid: number
  readonly port: number
  readonly agent: Agent
  readonly session: string
}

/** All programs whose calls are compared, each pinned to its core. */
export async function openScene(home: string, opened: Opened) {
  const toolroom = opened.add(await Toolroom.open(join(home, 'toolroom')))
  const echoPid = await serve(toolroom, 'echo', [ECHO])
  const coldPid = await serve(toolroom, 'cold', [ECHO])
  const floor = opened.add(await Listening.floor(home))
  const passThrough = opened.add(await Listening.passThrough(home))
  const { worker: stdio, serverPid } = await Worker.stdioLeg()
  opened.add(stdio)
  const load = opened.add(Worker.load())
  const owing = opened.add(Worker.load())
  const subjects = [toolroom.pid, floor.pid, passThrough.pid, stdio.pid]
  const others = [load.pid, owing.pid, echoPid, coldPid, serverPid, ...passThrough.children()]
  const isPlaced = place(subjects, others)
  const key = await keyOf(toolroom)
  return {
    load,
    owing,
    stdio,
    coldPid,
    /** A separate session, because two requests of one session must not have the same id. */
    coldSession: (await visited(toolroom, key)).session,
    isPlaced,
    ours: await visited(toolroom, key),
    floor: await visited(floor, key),
    passThrough: unvisited(passThrough, key),
  }
}
export type Scene = Awaited<ReturnType<typeof openScene>>

/** The same server twice: over stdio behind Toolroom, and with its own HTTP mode. */
export async function openEverything(home: string, opened: Opened, load: Scene['load']) {
  const toolroom = opened.add(await Toolroom.open(join(home, 'everything')))
  const pid = await serve(toolroom, 'everything', [EVERYTHING])
  const own = opened.add(await Listening.open(['--require', LOOPBACK, EVERYTHING, 'streamableHttp'], home))
  place([toolroom.pid, own.pid], [load.pid, pid])
  const key = await keyOf(toolroom)
  return { ours: await visited(toolroom, key), own: await visited(own, key) }
}

/** Many servers with many tools each, compared with one server that has all of them. */
export async function openLibrary(home: string, opened: Opened, load: Scene['load'], size: Size) {
  const toolroom = opened.add(await Toolroom.open(join(home, 'library')))
  const names = Array.from({ length: size.servers }, (_, n) => `server-${n}`)
  const pids = await Promise.all(
    names.map((name) => serve(toolroom, name, [ECHO, String(size.tools - ALWAYS)])),
  )
  const floor = opened.add(await Listening.floor(home))
  const { worker: stdio, serverPid } = await Worker.stdioLeg(String(size.servers * size.tools - ALWAYS))
  opened.add(stdio)
  place([toolroom.pid, floor.pid, stdio.pid], [load.pid, serverPid, ...pids])
  const key = await keyOf(toolroom)
  return { ours: await visited(toolroom, key), floor: await visited(floor, key), stdio }
}
interface Size {
  readonly servers: number
  readonly tools: number
}
/** `echo` and `big`. */
const ALWAYS = 2

/** Adds and starts a server. Returns its process id. */
export async function serve(
  toolroom: Toolroom,
  name: string,
  args: readonly string[],
  more: object = {},
): Promise<number> {
  await toolroom.ask('POST', '/api/servers', { name, command: process.execPath, args, ...more })
  const { pid } = (await toolroom.ask('POST', `/api/servers/${name}/start?wait_s=30`)) as View
  if (!pid) throw new Error(`${name} is not running`)
  return pid
}

export async function keyOf(toolroom: Toolroom): Promise<string> {
  const { key } = (await toolroom.ask('POST', '/api/keys', { agent_type: 'bench' })) as { key: string }
  return key
}

async function visited(who: { pid: number; address: string }, key: string): Promise<Visited> {
  const { agent, ...rest } = unvisited(who, key)
  const body = JSON.stringify(initialize)
  const reply = await fetch(`${who.address}/mcp`, { method: 'POST', headers: headersOf(agent), body })
  await reply.text()
  const session = reply.headers.get('mcp-session-id')
  if (session === null) throw new Error(`initialize returned ${reply.status} without a session`)
  return { ...rest, agent, session }
}

/** The pass-through has no sessions; its agent sends the header anyway. */
function unvisited({ pid, address }: { pid: number; address: string }, key: string): Visited {
  const { host, port } = new URL(address)
  return { pid, port: Number(port), agent: { host, key }, session: '0123456789abcdef'.repeat(2) }
}
