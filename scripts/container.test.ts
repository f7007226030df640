import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')

test('the container does not run as root, keeps its data in a volume, and has a health check', () => {
  const lines = read('Dockerfile').split('\n')
  const last = lines.slice(lines.lastIndexOf('FROM node:22-bookworm-slim'))
  for (const line of ['USER node', 'VOLUME /data', 'ENTRYPOINT ["tini", "--", "toolroom"]'])
    expect(last).toContain(line)
  expect(last.filter((line) => /_HOME=/.test(line)).every((line) => line.includes('=/data/'))).toBe(true)
  const check = last.find((line) => line.trim().startsWith('CMD ["node", "-e"'))
  const [, , script] = JSON.parse(check?.trim().slice('CMD '.length) ?? '[]')
  expect(() => new Function(script)).not.toThrow()
})

test('the compose file opens the port to this computer only, and does not start without a token', () => {
  const { services } = parse(read('compose.yaml'))
  expect(services.toolroom).toMatchObject({
    ports: ['127.0.0.1:8665:8665'],
    environment: { AUTH_TOKEN: expect.stringMatching(/^\$\{AUTH_TOKEN:\?/) },
    volumes: ['toolroom:/data'],
    cap_drop: ['ALL'],
  })
})

test('the release workflow publishes with provenance and a bill of materials, and has no other permission', () => {
  const { permissions, jobs } = parse(read('.github/workflows/release.yml'))
  expect(permissions).toEqual({})
  expect(jobs.publish.permissions).toEqual({ contents: 'write', 'id-token': 'write' })
  const commands = jobs.publish.steps.map(({ run = '' }: { run?: string }) => run).join('\n')
  expect(commands).toMatch(/npm publish .*--provenance/)
  expect(commands).toContain('npm run pack -- --sbom')
  expect(commands).not.toContain('${{')
})
