import { normalize } from 'node:path'
import { expect, test } from 'vitest'
import { findEngineSocket } from './engine.ts'

const PODMAN = normalize('/run/user/1000/podman/podman.sock')
const DOCKER = '/var/run/docker.sock'

test.each([
  ['DOCKER_HOST', { DOCKER_HOST: 'unix:///home/me/docker.sock' }, [PODMAN, DOCKER], '/home/me/docker.sock'],
  ["the user's Podman", { XDG_RUNTIME_DIR: '/run/user/1000' }, [PODMAN, DOCKER], PODMAN],
  ["the user's Podman without XDG_RUNTIME_DIR", {}, [PODMAN, DOCKER], PODMAN],
  ['Docker', {}, [DOCKER], DOCKER],
])('the engine is %s', (_title, env, sockets, path) => {
  expect(findEngineSocket(env, 1000, (each) => sockets.includes(each))).toEqual({ ok: true, path })
})

test('without an engine, the error names both sockets and what to start', () => {
  const found = findEngineSocket({}, 1000, () => false)
  expect(found).toMatchObject({ ok: false })
  expect(found.ok ? '' : found.obstacle.clause).toContain(`neither ${PODMAN} nor ${DOCKER}`)
})

test.each([
  'tcp://127.0.0.1:2375',
  'ssh://me@host',
  'npipe:////./pipe/docker_engine',
  'unix://relative',
  'x',
])('DOCKER_HOST=%s is refused with a sentence, and no other engine is used instead', (DOCKER_HOST) => {
  const found = findEngineSocket({ DOCKER_HOST }, 1000, () => true)
  expect(found).toMatchObject({ ok: false })
  expect(found.ok ? '' : found.obstacle.clause).toContain('only a unix socket is used')
})
