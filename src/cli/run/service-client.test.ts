import { expect, test } from 'vitest'
import { onTheCommandLine } from './service-client.ts'

test.each([
  ['Delete these servers first, or send ?force=true', 'Delete these servers first, or add --force'],
  [
    'Change these servers first, or delete it with ?force=true; they will not start then',
    'Change these servers first',
  ],
  ['GET /api/http-servers/docs/tools lists its tools', 'toolroom tools docs lists its tools'],
  ['Start it in Toolroom: POST /api/servers/memory/start', 'Start it: toolroom start memory'],
  ['Send a larger timeout_s, or raise timeouts.request_s', 'Give it more time with --timeout'],
  ['Install it, or delete the server', 'Install it, or delete the server'],
])('the hint %j of the API is shown on the command line as %j', (hint, shown) => {
  expect(onTheCommandLine(hint)).toBe(shown)
})
