import { generateKeyPairSync, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuOf } from '../../../test/support/linear.ts'
import { KnownSecrets } from './known-secrets.ts'
import { TextIndex } from './text-index.ts'

const knowing = (...secrets: string[]): KnownSecrets => {
  const known = new KnownSecrets()
  known.set('a', secrets)
  return known
}

describe('a secret of several lines', () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const lines = privateKey.trim().split('\n')
  const body = lines.slice(1, -1).filter((line) => line.length >= 8)

  test.each([
    ['as it is', privateKey],
    ['with the line ends of Windows', privateKey.replaceAll('\n', '\r\n')],
    ['with escaped line ends, as in a file of variables', privateKey.replaceAll('\n', '\\n')],
    ['indented', privateKey.replaceAll('\n', '\n    ')],
  ])('each line of a key is masked where it stands alone: %s (safety goal R24)', (_, secret) => {
    const known = knowing(secret)
    for (const line of body) {
      expect(known.redact(line)).toBe('***')
      expect(known.redact(`key: ${line}\r`)).toBe('key: ***\r')
    }
    expect(known.redact(lines[0] ?? '')).toBe('-----BEGIN PRIVATE KEY-----')
  })

  test('its lines of words and numbers alone are not masked, because other texts have them too', () => {
    const known = knowing(
      `{\n  "type": "service_account",\n  "port": 443,\n  "private_key_id": "8c5f1d3a9b7e"\n}\nBEGIN TRANSACTION\n`,
    )
    const harmless = ['  "type": "service_account",', '  "port": 443,', 'BEGIN TRANSACTION']
    expect(harmless.map((line) => known.redact(line))).toEqual(harmless)
    expect(known.redact('  "private_key_id": "8c5f1d3a9b7e"')).not.toContain('8c5f')
  })

  test('its lines are forgotten with it, unless another secret has them, too', () => {
    const known = knowing('first-line-1x\nshared-line-2x')
    known.set('b', ['shared-line-2x\nlast-line-3x'])
    known.delete('a')
    expect(known.redact('first-line-1x shared-line-2x last-line-3x')).toBe('first-line-1x *** ***')
    known.set('b', ['other-value-4'])
    expect(known.redact('shared-line-2x other-value-4')).toBe('shared-line-2x ***')
  })
})

test('a secret in the host of a URL is masked in small letters, as URLs have it', () => {
  const secret = 'Canary-Tenant-7'
  const { hostname } = new URL(`https://${secret}.example.com/`)
  expect(knowing(secret).redact(`The name ${hostname} was not found`)).toBe(
    'The name ***.example.com was not found',
  )
})

test('where known secrets overlap, all of them are masked', () => {
  expect(knowing('user:password1', 'password1@db.example').redact('x user:password1@db.example y')).toBe(
    'x *** y',
  )
})

test('what is left of a secret at a cut is masked, if it has 8 characters', () => {
  const known = knowing('canary-secret-value', 'canary-secrets-are-many')
  expect(known.redact('a canary-secret-v…')).toBe('a ***…')
  expect(known.redact('a canary-s… and canary-secret-value… canary…')).toBe('a ***… and ***… canary…')
  expect(known.redact('a canary-sex…')).toBe('a canary-sex…')
})

const letters = (max: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: max })

test('exactly the known texts are masked, whichever were added and removed before', () => {
  fc.assert(
    fc.property(
      fc.array(letters(40), { maxLength: 12 }),
      fc.array(letters(40), { maxLength: 12 }),
      letters(120),
      (kept, removed, filler) => {
        const long = (text: string) => text.length >= 8
        const index = new TextIndex()
        for (const text of [...removed, ...kept, ...removed].filter(long)) index.add(text)
        for (const text of [...removed, ...removed].filter(long)) index.delete(text)
        const text = [...removed, ...kept, filler].join(filler.slice(0, 3))
        expect(index.mask(text)).toBe(maskedOneByOne(text, kept.filter(long)))
      },
    ),
    { numRuns: 300 },
  )
})

/** What is known is replaced together with what it overlaps. */
function maskedOneByOne(text: string, known: readonly string[]): string {
  let out = ''
  let done = 0
  for (let at = 0; at < text.length; at += 1) {
    const longest = Math.max(0, ...known.filter((one) => text.startsWith(one, at)).map((one) => one.length))
    if (longest === 0 || at + longest <= done) continue
    if (at >= done) out += `${text.slice(done, at)}***`
    done = at + longest
  }
  return out + text.slice(done)
}

const LINE =
  'GET https://api.example.com/v1/items?page=3 200 in 34 ms for user A with 12 results, all of them new'

/** CPU time per line, of a change and of a line after it. */
function costs(count: number, value: (at: number) => string) {
  const known = new KnownSecrets()
  for (let at = 0; at < count; at += 1) known.set(`server:${at}`, [value(at)])
  const line = cpuOf(() => {
    for (let run = 0; run < 2000; run += 1) known.redact(LINE)
  })
  let next = count
  const change = cpuOf(() => {
    for (let run = 0; run < 200; run += 1) {
      next += 1
      known.set('server:0', [value(next)])
      known.redact(LINE)
    }
  })
  return { line, change }
}

test.each([
  ['random', () => randomBytes(24).toString('base64url')],
  ['alike', (at: number) => `sk-proj-of-one-team-with-a-long-name-${at}`],
])('100 times as many %s secrets make neither a line nor a change slower (safety goal R9)', (_, value) => {
  const [few, many] = [costs(60, value), costs(6000, value)]
  expect(many.line).toBeLessThan(5 * few.line + 10)
  expect(many.change).toBeLessThan(5 * few.change + 10)
})

test('large secrets take time once, by their size', () => {
  const secrets = Array.from({ length: 60 }, () => randomBytes(22_500).toString('base64'))
  const known = new KnownSecrets()
  const spent = cpuOf(
    () => {
      for (const [at, secret] of secrets.entries()) known.set(`server:${at}`, [secret])
      expect(known.redact(`a ${secrets[59]} b`)).toBe('a *** b')
    },
    undefined,
    1,
  )
  expect(spent).toBeLessThan(1000)
})
