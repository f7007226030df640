import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AGENTS } from '../src/agents/catalogue/catalogue.ts'
import { agentsPage, type Checked } from './agents-page.ts'

test('docs/agents.md is what the catalogue says', async () => {
  const file = new URL('../docs/agents-checked.json', import.meta.url)
  const checked: readonly Checked[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  await expect(agentsPage(AGENTS, checked)).toMatchFileSnapshot('../docs/agents.md')
})

test('what the agents themselves saw has a section of its own', () => {
  const page = agentsPage(AGENTS, [{ agent: 'Codex', version: '0.166.0', saw: ['docs', 'a|b'], note: '' }])
  expect(page).toContain('## Asked the agents themselves')
  expect(page).toContain('| Codex | 0.166.0 | `docs`, `a\\|b` |')
  expect(agentsPage(AGENTS)).not.toContain('Asked the agents')
})
