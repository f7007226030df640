import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { auditSentence } from './audit-sentences.ts'

/** The actions that the source writes to the audit trail: as a literal, or from the parts of a name. */
function writtenActions(): string[] {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const called = /\baudit(?:Of)?\(\s*'([a-z_]+)'/g
  const entered = /\baction(?:: | = before \? )'([a-z_]+)'(?: : '([a-z_]+)')?,?\s[^}]{0,80}\bsubject\b/g
  const literal = sources.flatMap((file) => {
    const source = readFileSync(join('src', file), 'utf8')
    return [called, entered].flatMap((each) => [...source.matchAll(each)].flatMap(([, ...names]) => names))
  })
  const lists = ['tools', 'prompts', 'instructions'].flatMap((list) => [`${list}_changed`, `${list}_held`])
  const approved = ['tool', 'prompt', 'instructions'].map((kind) => `${kind}_approved`)
  const found = [...literal, ...lists, ...approved, 'server_started', 'server_restarted']
  return [...new Set(found.filter((name) => name !== undefined))]
}

test('every action of the audit trail is told in one sentence of English', () => {
  const actions = writtenActions()
  for (const known of [
    'server_added',
    'key_added',
    'login',
    'shutdown',
    'agent_config_undone',
    'token_rotated',
  ])
    expect(actions).toContain(known)
  for (const action of actions) {
    const sentence = auditSentence(action, 'github', {
      name: 'Work',
      path: '~/.x',
      tool: 'a',
      prompt: 'b',
      owner: 'Codex',
    })
    expect(sentence, action).toMatch(/^(?:[A-Z]|github|~)[^:_]* [^:_]+$/)
  }
  expect(auditSentence('__proto__', 'x', {})).toBe('  proto  : x')
  expect(auditSentence('action_of_a_newer_version', 'x', {})).toBe('action of a newer version: x')
})
