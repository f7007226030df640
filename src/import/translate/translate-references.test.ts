/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Form, resolveReferences } from '../../kernel/secrets/references.ts'
import { README_FORMS, type Source, translateReferences } from './translate-references.ts'

const source = (forms: ReadonlySet<Form>, more: Partial<Source> = {}): Source => ({
  forms,
  isOwnSetting: (name) => name === 'AUTH_TOKEN' || name === 'LOG_LEVEL',
  ...more,
})
const readme = source(README_FORMS)
const only = (...forms: Form[]) => source(new Set(forms))

test.each<[string, Source, string]>([
  ['${API_KEY}', readme, '${env:API_KEY}'],
  ['x=${API_KEY:-a b}!', readme, 'x=${env:API_KEY:-a b}!'],
  ['${env:API_KEY}', readme, '${env:API_KEY}'],
  ['${secret:KEY}', readme, '${secret:KEY}'],
  ['${input:my token}', readme, '${secret:my-token}'],
  ['{env:API_KEY}', readme, '${env:API_KEY}'],
  ['${{ secrets.API_KEY }}', readme, '${secret:API_KEY}'],
  ['$${HOME}', readme, '$${HOME}'],
  ['$HOME and 100%X%', readme, '$HOME and 100%X%'],
  ['$HOME %TEMP%', only('dollar', 'percent'), '${env:HOME} ${env:TEMP}'],
  ['$$HOME', only('dollar'), '$$HOME'],
  ['${LOG_LEVEL:-info}', readme, 'info'],
  ['${input:region}', source(README_FORMS, { inputs: new Map([['region', 'eu']]) }), '${secret:region:-eu}'],
  ['${userHome}/x', source(README_FORMS, { home: '/home/ada' }), '/home/ada/x'],
  ['${workspaceFolder}/x', source(README_FORMS, { project: '/srv/shop' }), '/srv/shop/x'],
  // What the agent does not resolve is text, also where it is a reference of Toolroom.
  ['${env:API_KEY} ${API_KEY}', only(), '$${env:API_KEY} ${API_KEY}'],
  ['${env:API_KEY} ${API_KEY}', only('braces'), '$${env:API_KEY} ${env:API_KEY}'],
  ['${secret:KEY}', only('env'), '$${secret:KEY}'],
])('the text %j becomes Toolroom’s own (docs/references.md)', (text, from, expected) => {
  expect(translateReferences(text, from).text).toBe(expected)
})

test('what cannot be translated stays, and is reported', () => {
  const text = '${workspaceFolder} ${file:/x} {file:~/y} ${command:pick} ${A-b} ${AUTH_TOKEN}'
  expect(translateReferences(text, readme)).toEqual({
    text,
    kept: ['${workspaceFolder}', '${file:/x}', '{file:~/y}', '${command:pick}', '${A-b}'],
    replaced: [],
    forbidden: ['AUTH_TOKEN'],
  })
  expect(translateReferences('${LOG_LEVEL:-info}', readme).replaced).toEqual(['LOG_LEVEL'])
})

test('text without a reference keeps its meaning, whatever the agent resolves', () => {
  const pieces = fc.constantFrom('$', '{', '}', '${', 'env:', 'secret:', '%', ':-', 'A', ' ', '(', '/')
  const forms = fc.subarray<Form>(['braces', 'env', 'input', 'curly', 'dollar', 'percent', 'actions'])
  fc.assert(
    fc.property(fc.array(pieces), forms, (parts, known) => {
      const text = parts.join('')
      fc.pre(!text.includes('$${'))
      const result = translateReferences(text, only(...known))
      const resolved = resolveReferences(
        result.text,
        ({ kind, name, fallback }) => `<${kind}:${name}:${fallback}>`,
      )
      if (known.length === 0) expect(resolved).toEqual({ text })
      else if (!('text' in resolved && resolved.text.includes('<'))) expect(resolved).toEqual({ text })
    }),
  )
})
