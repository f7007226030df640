import type { IncomingMessage } from 'node:http'
import { type Engine, EngineError, isRecord, json } from './engine.ts'

export interface Image {
  /** Of its contents: what it is pinned to. */
  readonly id: string
  /** The name with the digest of the registry it came from, if it came from one. */
  readonly digest: string | null
}

/** Undefined if the engine does not have it. */
export async function findImage(engine: Engine, name: string): Promise<Image | undefined> {
  try {
    return imageIn(await engine.get(`/images/${encodeURI(name)}/json`))
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return undefined
    throw error
  }
}

export type PullPhase = 'resolving' | 'downloading' | 'extracting'

export interface Pulling {
  readonly onPhase: (phase: PullPhase) => void
  /** Called with the engine's words, without those about the progress of a layer. */
  readonly onLine: (text: string) => void
  readonly signal?: AbortSignal
}

/** Downloads an image. Rejects with an EngineError: the engine's words if the registry refuses. */
export async function pullImage(
  engine: Engine,
  name: string,
  { onPhase, onLine, signal }: Pulling,
): Promise<Image> {
  const response = await engine.open('POST', '/images/create', { fromImage: name, tag: tagOf(name) }, signal)
  let phase: PullPhase | undefined
  for await (const line of linesOf(response)) {
    const said = json(line)
    if (!isRecord(said)) continue
    if (typeof said.error === 'string') throw new EngineError(REFUSED, said.error.slice(0, 1000))
    const text = lineOf(said)
    if (text !== undefined) onLine(text)
    const next = PHASES.find(([pattern]) => pattern.test(String(said.status)))?.[1]
    if (next !== undefined && next !== phase) onPhase(next)
    phase = next ?? phase
  }
  const image = await findImage(engine, name)
  if (image) return image
  throw new EngineError(REFUSED, `The container engine has pulled ${name}, and does not have it`)
}

/** The status of an error that comes after the answer has begun. */
const REFUSED = 500

/** `a3ed95caeb02: Pull complete`. Not the many lines about how much of a layer is there. */
function lineOf({
  id,
  status,
  stream,
  progressDetail,
}: Readonly<Record<string, unknown>>): string | undefined {
  const text = typeof status === 'string' ? status : stream
  const isProgress = isRecord(progressDetail) && progressDetail.current !== undefined
  if (typeof text !== 'string' || text.trim() === '' || isProgress) return undefined
  return `${typeof id === 'string' && id !== '' ? `${id}: ` : ''}${text.trim()}`.slice(0, 1000)
}

const PHASES: readonly (readonly [RegExp, PullPhase])[] = [
  [/^(?:Pulling from|Trying to pull|Pulling image)/, 'resolving'],
  [/^(?:Pulling fs layer|Downloading|Copying blob|Getting image)/, 'downloading'],
  [/^(?:Extracting|Writing manifest|Storing)/, 'extracting'],
]

/** Without a tag the engine would download all of them. */
const tagOf = (name: string): string => (/@|:[^/]*$/.test(name) ? '' : 'latest')

const MAX_LINE_CHARACTERS = 64 * 1024

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of textsOf(response)) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_CHARACTERS)
      throw new EngineError(0, 'The answer of the container engine has a line that is too long')
    yield* lines.filter((line) => line.trim() !== '')
  }
  if (rest.trim() !== '') yield rest
}

async function* textsOf(response: IncomingMessage): AsyncGenerator<string> {
  try {
    yield* response.setEncoding('utf8') as AsyncIterable<string>
  } catch (error) {
    throw new EngineError(0, error instanceof Error ? error.message : String(error)) // it ended in the middle
  }
}

function imageIn(found: unknown): Image | undefined {
  if (!isRecord(found) || typeof found.Id !== 'string') return undefined
  const [digest] = Array.isArray(found.RepoDigests) ? found.RepoDigests : []
  return { id: found.Id, digest: typeof digest === 'string' ? digest : null }
}
