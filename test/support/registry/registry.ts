import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileOf, hitOf, packed, packumentOf, type TestPackage } from './documents.ts'

export type { TestPackage } from './documents.ts'
export { toolPackage } from './tool-package.ts'

/** A fault of one package. `silent` never responds; the tarball faults affect only the file. */
export type Fault =
  | 'not_found'
  | 'unauthorized'
  | 'server_error'
  | 'silent'
  | 'not_json'
  | 'truncated'
  | 'wrong_integrity'
  | 'truncated_tarball'
  | 'silent_tarball'

interface Options {
  /** `off` returns 404 like registries without search; `no_version` omits the version, as verdaccio does. */
  search?: 'on' | 'off' | 'no_version'
  /** Requests without `Bearer <token>` get 401. */
  readonly token?: string
  /** Packuments name this host for the files, as registries do that deliver them from elsewhere. */
  fileHost?: string | undefined
}

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
}

/** An npm registry on loopback. Close it with `onTestFinished`. */
export async function openRegistry(
  packages: readonly TestPackage[],
  faults: Readonly<Record<string, Fault>> = {},
  { token, ...given }: Options = {},
) {
  const serving: Pick<Options, 'search' | 'fileHost'> = { ...given }
  const all = new Map<string, TestPackage[]>()
  const wrong = new Map(Object.entries(faults))
  const requests: SeenRequest[] = []
  const publish = (one: TestPackage) => void all.set(one.name, [...(all.get(one.name) ?? []), one])
  packages.forEach(publish)

  const server = createServer((request, response) => {
    const { authorization } = request.headers
    requests.push({ method: request.method ?? '', path: request.url ?? '', authorization })
    if (token !== undefined && authorization !== `Bearer ${token}`)
      return json(response, 401, { error: 'no' })
    const path = decodeURIComponent((request.url ?? '').split('?', 1)[0] ?? '')
    if (path === '/-/v1/search') return answerSearch(request, response)
    const [, name = '', file] = /^\/((?:@[^/]+\/)?[^/@]+)(?:\/-\/([^/]+))?$/.exec(path) ?? []
    const versions = all.get(name)
    const fault = wrong.get(name)
    if (!versions || fault === 'not_found') return json(response, 404, { error: 'Not found' })
    if (fault === 'silent') return
    if (fault === 'unauthorized') return json(response, 401, { error: 'Unauthorized' })
    if (fault === 'server_error') return json(response, 500, { error: 'Internal error' })
    if (file !== undefined) return answerTarball(response, versions, file, fault)
    answerPackument(request, response, versions, fault)
  })

  function answerPackument(
    request: IncomingMessage,
    response: ServerResponse,
    versions: readonly TestPackage[],
    fault: Fault | undefined,
  ) {
    const short = request.headers.accept?.startsWith('application/vnd.npm.install-v1+json') ?? false
    const document = JSON.stringify(packumentOf(versions, filesAt(), short ? 'abbreviated' : 'full'))
    if (fault === 'not_json') {
      return response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>')
    }
    if (fault === 'truncated') return cutOff(response, Buffer.from(document))
    const integrity = /sha512-[^"]+/g
    const wrongOne = `sha512-${Buffer.alloc(64).toString('base64')}`
    const text = fault === 'wrong_integrity' ? document.replace(integrity, wrongOne) : document
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }

  function answerTarball(
    response: ServerResponse,
    versions: readonly TestPackage[],
    file: string,
    fault: Fault | undefined,
  ) {
    const one = versions.find((version) => fileOf(version) === file)
    if (!one) return json(response, 404, { error: 'Not found' })
    const body = packed(one)
    if (fault === 'truncated_tarball') return cutOff(response, body)
    if (fault === 'silent_tarball') return
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(body)
  }

  function answerSearch(request: IncomingMessage, response: ServerResponse) {
    if (serving.search === 'off') return json(response, 404, { error: 'Not found' })
    const query = new URL(request.url ?? '', url).searchParams
    const words = (query.get('text') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
    const found = [...all.values()].filter((versions) => {
      const [one] = versions
      const text = JSON.stringify([
        one?.name,
        one?.manifest?.description,
        one?.manifest?.keywords,
      ]).toLowerCase()
      return words.some((word) => text.includes(word))
    })
    const [from, size] = [Number(query.get('from') ?? 0), Number(query.get('size') ?? 20)]
    const objects = found
      .slice(from, from + size)
      .map((versions) => hitOf(versions, serving.search !== 'no_version'))
    json(response, 200, { objects, total: found.length, time: new Date().toISOString() })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const filesAt = () => url.replace('127.0.0.1', serving.fileHost ?? '127.0.0.1')
  return {
    url,
    requests,
    /** Sets the faults from now on. */
    faults: wrong,
    /** Changes how it serves from now on. */
    serving,
    /** Adds a version, or a package. */
    publish,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections() // a silent response would keep it open forever
      }),
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Announces the full length, sends half, and closes the connection. */
function cutOff(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { 'content-length': body.length })
  response.write(body.subarray(0, body.length / 2), () => response.destroy())
}
