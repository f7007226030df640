import { expect, test } from 'vitest'
import { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { Vault } from '../../kernel/secrets/vault.ts'
import { CallPayloads } from './call-payloads.ts'

const KIB = 1024

/** What is kept of a call with this text as its arguments. */
async function keptOf(text: string, secrets: KnownSecrets): Promise<string> {
  const payloads = new CallPayloads({
    mode: 'memory',
    store: { savePayloads: async () => {}, payload: async () => undefined },
    secrets,
    vault: new Vault(Buffer.alloc(32)),
    now: () => 0,
    onError: (error) => expect.unreachable(String(error)),
  })
  payloads.keep(1, { text }, undefined)
  const kept = await payloads.find(1)
  await payloads.close()
  return kept?.arguments?.text ?? ''
}

test('no part of a secret is kept at the cut, also where masked secrets before it make the text shorter (docs/calls.md)', async () => {
  const secret = 'pass phrase of forty plain words '.repeat(30).trim() // about a kilobyte, and nothing but its owner tells it
  const secrets = new KnownSecrets()
  secrets.set('echo', [secret])
  const masked = `${secret} `.repeat(12)
  for (const at of [64, 72].map((limit) => limit * KIB - 200)) {
    const kept = await keptOf(
      `${masked}${'x'.repeat(at - masked.length)}${secret}${'y'.repeat(9 * KIB)}`,
      secrets,
    )
    expect(kept.length).toBeLessThanOrEqual(64 * KIB)
    expect(kept.length).toBeGreaterThan(50 * KIB)
    expect(kept).toContain('*** ***')
    expect(kept).not.toContain('pass phrase')
  }
})
