// Summarises the recorded traffic: protocol versions, client, methods, refused requests, tools.
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CLIENT = 'io.modelcontextprotocol/clientInfo'
const SETTLE_MS = 10_000

export function createWire(path) {
  const records = () =>
    existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').map(parse).filter(Boolean) : []

  return {
    /** The traffic while `work` runs, until the last stream is closed; also when `work` fails. */
    async during(work) {
      const before = records().length
      const outcome = await work().then(
        (value) => ({ value, error: null }),
        (error) => ({ value: undefined, error }),
      )
      const until = performance.now() + SETTLE_MS
      for (;;) {
        const exchanges = exchangesIn(records().slice(before))
        if (exchanges.every(({ status }) => status !== undefined) || performance.now() > until) {
          return { ...outcome, traffic: summaryOf(exchanges) }
        }
        await sleep(50)
      }
    },
  }
}

function exchangesIn(records) {
  const ends = new Map(records.filter(({ at }) => at === 'end').map((each) => [each.n, each]))
  return records.filter(({ at }) => at === 'begin').map((begin) => ({ ...begin, ...ends.get(begin.n) }))
}

function summaryOf(exchanges) {
  const atGateway = exchanges.filter(({ url }) => url.startsWith('/mcp'))
  const parsed = atGateway.map((each) => ({
    ...each,
    message: parse(each.sent),
    results: resultsIn(each.answer),
  }))
  const requests = parsed.filter(({ message }) => message?.method !== undefined)
  return {
    revisions: unique(requests.filter(({ status }) => status < 400).flatMap(revisionOf)),
    client: unique(requests.flatMap(clientOf)).join(', ') || null,
    user_agent: unique(exchanges.flatMap(({ headers }) => headers['user-agent'] ?? [])).join(', ') || null,
    methods: unique(requests.map(({ message }) => message.method)),
    tools: unique(
      parsed.flatMap(({ results }) => results.flatMap(({ tools }) => tools ?? [])).map(({ name }) => name),
    ),
    refused: unique(parsed.filter(({ status }) => status >= 400).map(refusalOf)),
    probes: exchanges.length - atGateway.length,
  }
}

/** The negotiated version of an `initialize`, or the version in `_meta` of a modern request. */
function revisionOf({ message, results }) {
  if (message.method === 'initialize') return results.flatMap(({ protocolVersion }) => protocolVersion ?? [])
  return message.params?._meta?.[VERSION] ?? []
}

function clientOf({ message: { params } }) {
  const { name, version } = params?.clientInfo ?? params?._meta?.[CLIENT] ?? {}
  return name === undefined ? [] : `${name} ${version}`
}

function refusalOf({ method, message, status, answer }) {
  const { error, detail } = parse(answer) ?? {}
  const why = error?.message ?? detail
  return `${method} ${message?.method ?? ''} ${status}${why ? ` (${why})` : ''}`.replace(/ +/g, ' ')
}

/** A response is one object, or a stream of events with one object each. */
function resultsIn(answer = '') {
  const texts = [
    answer,
    ...answer.split('\n').flatMap((line) => (line.startsWith('data:') ? line.slice(5) : [])),
  ]
  return texts.flatMap((text) => parse(text)?.result ?? [])
}

function parse(text = '') {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // empty, or another line of an event stream
  }
}

/** `none` if no accepted request named a protocol version. */
export function eraOf({ revisions }) {
  const eras = unique(revisions.map((revision) => (revision >= '2026' ? 'modern' : 'legacy')))
  return eras.join(' and ') || 'none'
}

const unique = (list) => [...new Set(list)]
