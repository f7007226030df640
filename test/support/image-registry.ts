import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { arch } from 'node:os'
import { gzipSync } from 'node:zlib'
import { atEnd } from './lifetime.ts'

export interface ImageRegistry {
  readonly image: string
  readonly digest: string
  /** The same image, for which it wants a login. */
  readonly privateImage: string
  /** The same image, whose layer never arrives. */
  readonly slowImage: string
  /** Whether an engine waits for that layer. */
  readonly isHanging: () => boolean
}

/** A registry on loopback with one image, `tiny:latest`, that has a layer without files. Engines need no TLS there. */
export async function imageRegistry(): Promise<ImageRegistry> {
  const [tiny, slow] = [imageOf('tiny'), imageOf('slow')]
  let isHanging = false
  const server = createServer(({ method, url = '' }, response) => {
    const [, , repository, , name = ''] = url.split('/')
    if (repository === 'private') {
      const body = '{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}'
      const challenge = { 'www-authenticate': 'Basic realm="images"', 'content-type': 'application/json' }
      response.writeHead(401, challenge).end(body)
      return
    }
    if (repository === 'slow' && name === digestOf(slow.layer)) {
      isHanging = true
      return
    }
    const found = repository === 'tiny' ? tiny.found : repository === 'slow' ? slow.found : undefined
    const bytes = url === '/v2/' ? Buffer.from('{}') : found?.get(name)
    if (!bytes) {
      response.writeHead(404).end()
      return
    }
    const isManifest = bytes === tiny.manifest || bytes === slow.manifest
    const headers = {
      'content-type': isManifest ? MANIFEST : 'application/octet-stream',
      'content-length': bytes.length,
    }
    response.writeHead(200, { ...headers, 'docker-content-digest': digestOf(bytes) })
    response.end(method === 'HEAD' ? undefined : bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    image: `${host}/tiny`,
    digest: `${host}/tiny@${digestOf(tiny.manifest)}`,
    privateImage: `${host}/private`,
    slowImage: `${host}/slow`,
    isHanging: () => isHanging,
  }
}

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json'

/** An image with one empty layer, which is the same in no two images. */
function imageOf(label: string) {
  const tar = Buffer.alloc(label === 'tiny' ? 1024 : 2048) // the end of an archive
  const layer = gzipSync(tar)
  const config = Buffer.from(
    JSON.stringify({
      architecture: arch() === 'x64' ? 'amd64' : arch(),
      os: 'linux',
      config: { Labels: { label } },
      rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
    }),
  )
  const part = (type: string, bytes: Buffer) => ({
    mediaType: `application/vnd.docker.${type}`,
    size: bytes.length,
    digest: digestOf(bytes),
  })
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: part('container.image.v1+json', config),
      layers: [part('image.rootfs.diff.tar.gzip', layer)],
    }),
  )
  const found = new Map([layer, config, manifest].map((bytes) => [digestOf(bytes), bytes]))
  found.set('latest', manifest)
  return { layer, manifest, found }
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
