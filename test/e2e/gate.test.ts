import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { covers } from '../support/covers.ts'
import {
  everyKnock,
  gateTable,
  type Knock,
  knockHeaders,
  pairwiseKnocks,
  type Verdict,
} from '../support/gate-table.ts'
import { type House, openHouse, TOKEN } from '../support/house.ts'
import { inParallel, type RawAnswer, rawAnswer, requestBytes } from '../support/raw-http.ts'

const AT_ONCE = 48
const WEBSOCKET: [string, string][] = [
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
]
/** 101 once the room of the metrics stream is there. */
const WEBSOCKET_ACCEPTED = 404

interface Door {
  readonly method: string
  readonly url: string
  /** The status that says: this one came in. */
  readonly accepted: number
  readonly headers?: [string, string][]
  readonly body?: () => string
}

const JSON_TYPE: [string, string] = ['Content-Type', 'application/json']
const portOf = (house: House): number => (house.fastify.server.address() as AddressInfo).port

/** Knocks in every given way, with the right token, and says in sentences where the gate was wrong. */
async function knockAll(port: number, door: Door, knocks: readonly [Knock, Verdict][]): Promise<string[]> {
  const wrong: string[] = []
  await inParallel(knocks, AT_ONCE, async ([knock, verdict]) => {
    const headers = [...knockHeaders(knock), ['X-SVC-Token', TOKEN] as [string, string], ...(door.headers ?? [])]
    const answer = await rawAnswer({ port }, requestBytes(door.method, door.url, headers, door.body?.()))
    const fault = faultOf(answer, door, verdict)
    if (fault) wrong.push(`${door.method} ${door.url} ${JSON.stringify(knock)}: ${fault}`)
  })
  return wrong
}

function faultOf(answer: RawAnswer, { method, accepted }: Door, verdict: Verdict): string | undefined {
  if (answer.head.includes('access-control-')) return 'a CORS header'
  if (verdict === 'in') return answer.status === accepted ? undefined : `wrongly refused with ${answer.status}`
  if (answer.status !== 403) return `wrongly accepted with ${answer.status}`
  if (method === 'HEAD') return answer.body === '' ? undefined : 'a body after HEAD'
  const { code, status, request_id, type } = JSON.parse(answer.body)
  if (code !== verdict) return `refused as ${code} instead of ${verdict}`
  const shaped = status === 403 && type === `/docs/errors/${code}` && answer.header('x-request-id') === request_id
  return shaped ? undefined : `another shape: ${answer.body}`
}

/** Every route of the service, with something in place of its parameters. */
async function everyDoor(house: House): Promise<Door[]> {
  const fillers: Record<string, string> = { file: 'start.js', code: 'not_found' }
  const doors: Door[] = []
  for (const { method, url } of house.app.methods.list()) {
    const path = url.replace(/:(\w+)/g, (_, name: string) => fillers[name] ?? 'nobody')
    const headers = [['Host', `127.0.0.1:${portOf(house)}`], ['X-SVC-Token', TOKEN]] as const
    const { status } = await rawAnswer({ port: portOf(house) }, requestBytes(method, path, headers))
    doors.push({ method, url: path, accepted: status })
  }
  return doors
}

describe('the gate', () => {
  test('stands before reading: every host, origin and site', async () => {
    const house = await openHouse()
    const door = { method: 'GET', url: '/api/servers', accepted: 200 }
    expect(await knockAll(portOf(house), door, everyKnock(gateTable(portOf(house))))).toEqual([])
  })

  test('stands before a change: what it refuses leaves no trace', async () => {
    const house = await openHouse()
    let count = 0
    const body = () => JSON.stringify({ name: `server ${++count}`, command: 'node' })
    const door = { method: 'POST', url: '/api/servers', accepted: 201, headers: [JSON_TYPE], body }
    const knocks = everyKnock(gateTable(portOf(house)))
    expect(await knockAll(portOf(house), door, knocks)).toEqual([])
    const { total } = (await house.inject('/api/servers')).json()
    expect(total).toBe(knocks.filter(([, verdict]) => verdict === 'in').length)
  })

  test('stands before the documentation: every host, origin and site', async () => {
    const house = await openHouse()
    const door = { method: 'GET', url: '/docs', accepted: 200 }
    expect(await knockAll(portOf(house), door, everyKnock(gateTable(portOf(house))))).toEqual([])
  })

  test('stands before the upgrade to a WebSocket: every host, origin and site', async () => {
    const house = await openHouse()
    const door = { method: 'GET', url: '/api/ws/metrics', accepted: WEBSOCKET_ACCEPTED, headers: WEBSOCKET }
    expect(await knockAll(portOf(house), door, everyKnock(gateTable(portOf(house))))).toEqual([])
  })

  test('stands before every route: each bad value alone, and each pair of values', async () => {
    covers('path-relative-to-base-url', 'base-url')
    const house = await openHouse()
    const doors = await everyDoor(house)
    expect(doors.length).toBeGreaterThan(30)
    expect(doors.filter(({ accepted }) => [0, 401, 403].includes(accepted))).toEqual([])
    const knocks = pairwiseKnocks(gateTable(portOf(house)))
    for (const door of doors) expect(await knockAll(portOf(house), door, knocks)).toEqual([])
  })
})
