import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AGENTS } from '../src/agents/catalogue/agent-catalogue.ts'
import { agentsPage, type Checked } from './agents-page.ts'

test('docs/agents.md matches the catalogue', async () => {
  const file = new URL('../docs/agents-checked.json', import.meta.url)
  const checked: readonly Checked[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  await expect(agentsPage(AGENTS, checked)).toMatchFileSnapshot('../docs/agents.md')
})

test('results of real agents have a section of their own', () => {
  const codex = { agent: 'Codex', version: '0.166.0', date: '2026-11-15', saw: ['docs', 'a|b'], note: '' }
  const page = agentsPage(AGENTS, [codex])
  expect(page).toContain('## Verified with the agents')
  expect(page).toContain('| Codex | 0.166.0 | 2026-11-15 | `docs`, `a\\|b` |')
  expect(agentsPage(AGENTS)).not.toContain('Verified with the agents')
})
