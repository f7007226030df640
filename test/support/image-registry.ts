import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { arch } from 'node:os'
import { gzipSync } from 'node:zlib'
import { atEnd } from './lifetime.ts'

/** A registry on loopback with one image, `tiny:latest`, that has a layer without files. Docker needs no TLS there. */
export async function imageRegistry(): Promise<{ readonly image: string; readonly digest: string }> {
  const tar = Buffer.alloc(1024) // the end of an archive
  const layer = gzipSync(tar)
  const config = Buffer.from(
    JSON.stringify({
      architecture: arch() === 'x64' ? 'amd64' : arch(),
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
    }),
  )
  const part = (type: string, bytes: Buffer) => ({
    mediaType: `application/vnd.docker.${type}`,
    size: bytes.length,
    digest: digestOf(bytes),
  })
  const mediaType = 'application/vnd.docker.distribution.manifest.v2+json'
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType,
      config: part('container.image.v1+json', config),
      layers: [part('image.rootfs.diff.tar.gzip', layer)],
    }),
  )
  const found = new Map([layer, config, manifest].map((bytes) => [digestOf(bytes), bytes]))
  found.set('latest', manifest)
  const server = createServer(({ method, url = '' }, response) => {
    const bytes = url === '/v2/' ? Buffer.from('{}') : found.get(url.split('/').at(-1) ?? '')
    if (!bytes || !url.startsWith('/v2/')) {
      response.writeHead(404).end()
      return
    }
    const type = bytes === manifest ? mediaType : 'application/octet-stream'
    const headers = { 'content-type': type, 'content-length': bytes.length }
    response.writeHead(200, { ...headers, 'docker-content-digest': digestOf(bytes) })
    response.end(method === 'HEAD' ? undefined : bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { image: `${host}/tiny`, digest: `${host}/tiny@${digestOf(manifest)}` }
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
