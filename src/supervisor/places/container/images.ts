import type { IncomingMessage } from 'node:http'
import { type Engine, EngineError, isRecord } from './engine.ts'

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

/** Downloads an image. Rejects with an EngineError: the engine's words if the registry refuses. */
export async function pullImage(
  engine: Engine,
  name: string,
  onPhase: (phase: PullPhase) => void,
  signal?: AbortSignal,
): Promise<Image> {
  const response = await engine.open('POST', '/images/create', { fromImage: name, tag: tagOf(name) }, signal)
  let phase: PullPhase | undefined
  for await (const line of linesOf(response)) {
    const said: unknown = JSON.parse(line)
    if (!isRecord(said)) continue
    if (typeof said.error === 'string') throw new EngineError(0, said.error.slice(0, 1000))
    const next = PHASES.find(([pattern]) => pattern.test(String(said.status)))?.[1]
    if (next !== undefined && next !== phase) onPhase(next)
    phase = next ?? phase
  }
  const image = await findImage(engine, name)
  if (image) return image
  throw new EngineError(0, `The container engine has pulled ${name}, and does not have it`)
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
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_CHARACTERS)
      throw new EngineError(0, 'The answer of the container engine has a line that is too long')
    yield* lines.filter((line) => line.trim() !== '')
  }
  if (rest.trim() !== '') yield rest
}

function imageIn(found: unknown): Image | undefined {
  if (!isRecord(found) || typeof found.Id !== 'string') return undefined
  const [digest] = Array.isArray(found.RepoDigests) ? found.RepoDigests : []
  return { id: found.Id, digest: typeof digest === 'string' ? digest : null }
}
