/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Carrier } from '../../../kernel/secrets/mask-secrets.ts'
import { escapeReferences } from '../../../kernel/secrets/references.ts'
import { resolveDefinition } from './definition-references.ts'
import { moveSecrets, type PlainSecret, plainSecretsIn } from './move-secrets.ts'

function move(definition: Carrier) {
  const secrets = new Map<string, string>()
  const moved = moveSecrets(definition, 'files', ({ name, value }: PlainSecret) => {
    const taken = [...secrets].find(([known, stored]) => known.startsWith(name) && stored === value)?.[0]
    const chosen = taken ?? (secrets.has(name) ? `${name}-${secrets.size}` : name)
    secrets.set(chosen, value)
    return chosen
  })
  return { moved, secrets }
}

test('secrets in env, args, headers and url become references to named ones (docs/agents.md)', () => {
  const definition = {
    args: [
      '--api-key',
      'abc',
      '--token=def',
      'postgres://me:pw@db.example/x',
      '-p',
      'package',
      '--dir',
      '/srv',
      '--header',
      'X-Key: ${KEY}',
    ],
    env: {
      API_KEY: 'k1',
      LOG: 'debug',
      AUTH: 'Bearer tok',
      EMPTY_KEY: '',
      REF_KEY: '${env:A}',
      TOKEN: '${A}',
    },
    headers: { Authorization: 'Bearer b1', 'X-Team': 'docs' },
    url: 'https://x.example/mcp?key=a%20b&tenant=t',
  }
  const { moved, secrets } = move(definition)
  expect(moved).toEqual({
    args: [
      '--api-key',
      '${secret:files.api-key}',
      '--token=${secret:files.argument-3}',
      'postgres://${secret:files.argument-4}@db.example/x',
      '-p',
      'package',
      '--dir',
      '/srv',
      '--header',
      'X-Key: ${KEY}',
    ],
    env: {
      ...definition.env,
      API_KEY: '${secret:API_KEY}',
      AUTH: 'Bearer ${secret:AUTH}',
    },
    headers: { Authorization: 'Bearer ${secret:files.Authorization}', 'X-Team': 'docs' },
    url: 'https://x.example/mcp?key=${secret:files.url}&tenant=t',
  })
  expect(Object.fromEntries(secrets)).toEqual({
    'files.api-key': 'abc',
    'files.argument-3': 'def',
    'files.argument-4': 'me:pw',
    API_KEY: 'k1',
    AUTH: 'tok',
    'files.Authorization': 'b1',
    'files.url': 'a%20b',
  })
  expect(plainSecretsIn(definition)).toEqual([
    'argument 2',
    'argument 3',
    'argument 4',
    'env API_KEY',
    'env AUTH',
    'header Authorization',
    'url',
  ])
  expect(plainSecretsIn(moved)).toEqual([])
})

test('a definition whose secrets were moved resolves to the same texts', () => {
  const piece = fc.constantFrom(
    '--token=',
    'key: ',
    'Bearer ',
    'a:b@',
    '://',
    '?k=',
    '&',
    ' ',
    '"',
    '***',
    '${',
    'ghp_0123456789abcdefghij',
  )
  const text = fc
    .array(fc.oneof(piece, fc.string()), { maxLength: 6 })
    .map((parts) => escapeReferences(parts.join('')))
  fc.assert(
    fc.property(fc.array(text), text, text, (args, env, header) => {
      const definition = {
        args,
        env: { A_KEY: env, B: env },
        headers: { Authorization: header },
        url: `https://x/?key=${encodeURIComponent(env.toWellFormed())}`,
      }
      const { moved, secrets } = move(definition)
      const original = resolveDefinition(definition, () => undefined)
      expect(resolveDefinition(moved, ({ name }) => secrets.get(name))).toEqual(original)
    }),
  )
})
