import { existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { writeDurably } from '../../../kernel/files/durable-file.ts'
import { readForeign } from '../../../kernel/files/foreign-file.ts'
import { type Engine, EngineError, isRecord, json, shortened } from './engine.ts'

export interface Image {
  /** Identifies its contents: what a server is pinned to. */
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

type PullPhase = 'resolving' | 'downloading' | 'extracting'

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
    if (typeof said.error === 'string') throw new EngineError(REFUSED, shortened(said.error))
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
  return shortened(`${typeof id === 'string' && id !== '' ? `${id}: ` : ''}${text.trim()}`)
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

const MAX_BYTES = 4 * 1024 * 1024

/**
 * Which image each server was started with first, by the id of its contents. A tag may get other contents later, and a
 * server must not change because of that.
 */
export class ImagePins {
  readonly #file: string
  readonly #ids: Map<string, string>

  constructor(file: string) {
    this.#file = file
    this.#ids = read(file)
  }

  /** Undefined if the server has not been started with this image yet. */
  of(serverId: string, image: string): string | undefined {
    return this.#ids.get(keyOf(serverId, image))
  }

  /** The file says that there may be containers of this installation: the next start looks for them. */
  begin(): void {
    if (!existsSync(this.#file)) this.#save()
  }

  pin(serverId: string, image: string, id: string): void {
    // Another image replaces the pin of the former one.
    for (const key of this.#ids.keys()) if (key.startsWith(`${serverId} `)) this.#ids.delete(key)
    this.#ids.set(keyOf(serverId, image), id)
    this.#save()
  }

  #save(): void {
    writeDurably(this.#file, `${JSON.stringify(Object.fromEntries(this.#ids), null, 2)}\n`, 0o600)
  }
}

const keyOf = (serverId: string, image: string): string => `${serverId} ${image}`

function read(file: string): Map<string, string> {
  try {
    const found: unknown = JSON.parse(readForeign(file, MAX_BYTES).bytes.toString('utf8'))
    const entries = isRecord(found) ? Object.entries(found) : []
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    return new Map() // no server was started in a container yet
  }
}
