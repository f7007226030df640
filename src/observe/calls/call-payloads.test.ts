import { expect, test } from 'vitest'
import { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { Vault } from '../../kernel/secrets/vault.ts'
import { CallPayloads } from './call-payloads.ts'

const KIB = 1024
const numbered = (count: number, between = ' '): string =>
  Array.from({ length: count }, (_, n) => `pass phrase ${n}`).join(between)

/** What is kept of a call with these arguments, or with this result. */
async function keptOf(
  args: object | undefined,
  result: string | undefined,
  secrets: KnownSecrets,
): Promise<string> {
  const payloads = new CallPayloads({
    mode: 'memory',
    store: { savePayloads: async () => {}, payload: async () => undefined },
    secrets,
    vault: new Vault(Buffer.alloc(32)),
    now: () => 0,
    onError: (error) => expect.unreachable(String(error)),
  })
  payloads.keep(1, args, result)
  const kept = await payloads.find(1)
  await payloads.close()
  return (kept?.arguments ?? kept?.result)?.text ?? ''
}

test('no part of a secret is kept at the cut, also where masked secrets before it make the text shorter (docs/calls.md)', async () => {
  const secret = numbered(70) // about a kilobyte, and nothing but its owner tells it
  const secrets = new KnownSecrets()
  secrets.set('echo', [secret])
  const masked = `${secret} `.repeat(12)
  for (const at of [64, 72].map((limit) => limit * KIB - 200)) {
    const text = `${masked}${'x'.repeat(at - masked.length)}${secret}${'y'.repeat(9 * KIB)}`
    const kept = await keptOf({ text }, undefined, secrets)
    expect(kept.length).toBeLessThanOrEqual(64 * KIB)
    expect(kept.length).toBeGreaterThan(50 * KIB)
    expect(kept).toContain('*** ***')
    expect(kept).not.toContain('pass phrase')
  }
})

const escaped = (text: string): string =>
  text.replace(/[^ -~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

test.each<[secret: string, text: string]>([
  ['repeats itself', 'pass phrase of forty plain words '.repeat(300).trim()],
  ['is longer than what is read beyond the cut', numbered(1000)],
  ['has lines', numbered(1000, '\n')],
  ['has the sign of a cut', numbered(1000, ' … ')],
  ['has characters that JSON may escape', numbered(1000, ' / ä 😀 ')],
])('no part of a secret that %s is kept at the cut, however a result escapes it', async (_, secret) => {
  const secrets = new KnownSecrets()
  secrets.set('echo', [secret])
  for (const at of [60, 64, 71].flatMap((kib) => [0, 1, 2, 3].map((by) => kib * KIB + by))) {
    const text = `${'x'.repeat(at)}${secret}${'y'.repeat(9 * KIB)}`
    const json = JSON.stringify({ text })
    for (const result of [json, escaped(json), json.replaceAll('/', '\\/')])
      expect(await keptOf(undefined, result, secrets)).not.toContain('pass phrase')
    expect(await keptOf({ text }, undefined, secrets)).not.toContain('pass phrase')
  }
})
