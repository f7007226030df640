import { expect, test } from 'vitest'
import { EngineError } from './engine.ts'
import { explainPull } from './explain-engine-error.ts'

const pulled = { image: 'acme/notes', engine: 'docker', socket: '/run/engine.sock' } as const

test.each([
  [0, 'connect ECONNREFUSED /run/engine.sock', 'engine_unavailable'],
  [0, 'connect EACCES /run/engine.sock', 'engine_unavailable'],
  [0, 'aborted', 'engine_unavailable'],
  [404, 'manifest for acme/notes:latest not found: manifest unknown: manifest unknown', 'image_not_found'],
  [
    404,
    "pull access denied for acme/notes, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
    'image_not_found',
  ],
  [500, 'reading manifest latest in docker.io/acme/notes: manifest unknown', 'image_not_found'],
  [
    500,
    'Head "https://images.example/v2/acme/notes/manifests/latest": unauthorized: authentication required',
    'image_login_needed',
  ],
  [500, 'Get "https://images.example/v2/": no basic auth credentials', 'image_login_needed'],
  [500, 'failed to register layer: write /lib/a.so: no space left on device', 'disk_full'],
  [500, 'writing blob: storing blob to file "/var/tmp/a": write: no space left on device', 'disk_full'],
  [
    500,
    'Get "https://images.example/v2/": dial tcp: lookup images.example: i/o timeout',
    'image_pull_failed',
  ],
])('%i %s is %s', (status, message, code) => {
  const error = explainPull(new EngineError(status, message), pulled)
  expect(error.code).toBe(code)
  expect(error.hint).not.toBe('')
  if (code !== 'engine_unavailable') expect(error.message).toContain(`acme/notes`)
})
