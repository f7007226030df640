import { expect, test } from 'vitest'
import { CallResult } from '../../mcp/protocol/json-rpc-message.ts'
import { iframePolicy } from './iframe-policy.ts'
import { createIframes } from './iframes.ts'

/** Pages whose server answers with their own address, and a clock that the test moves. */
function openIframes() {
  const clock = { now: 0 }
  const read = async (_: string, uri: string) => {
    return CallResult.of({ contents: [{ uri, text: `<p>${uri}</p>` }] })
  }
  const iframes = createIframes({ read, now: () => clock.now })
  const open = async (uri: string) => {
    const { url } = await iframes.open('server', uri, {})
    return url.replace('/app-frames/', '')
  }
  return { clock, open, take: iframes.take }
}

test('a page waits a minute for its frame, and is not there any more after that (docs/running.md)', async () => {
  const { clock, open, take } = openIframes()
  const [used, late] = [await open('ui://a'), await open('ui://b')]
  clock.now = 59_999
  expect(take(used)?.html).toBe('<p>ui://a</p>')
  clock.now = 60_000
  expect(take(late)).toBeUndefined()
})

test('20 pages wait at most: the 21st takes the place of the oldest', async () => {
  const { open, take } = openIframes()
  const ids: string[] = []
  for (let n = 0; n < 21; n += 1) ids.push(await open(`ui://${n}`))
  expect(ids.map((id) => take(id)?.html ?? null)).toEqual([
    null,
    ...ids.slice(1).map((_, n) => `<p>ui://${n + 1}</p>`),
  ])
})

test('a page that declares nothing runs its own scripts, and loads from nowhere, connects nowhere and sends no form', () => {
  expect(iframePolicy(undefined).split('; ')).toEqual([
    'sandbox allow-scripts',
    "default-src 'none'",
    "script-src 'unsafe-inline'",
    "style-src 'unsafe-inline'",
    'img-src data: blob:',
    'media-src data: blob:',
    'font-src data:',
    "connect-src 'none'",
    "frame-src 'none'",
    "frame-ancestors 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ])
})
