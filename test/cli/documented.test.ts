import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { AGENTS } from '../../src/agents/catalogue/agent-catalogue.ts'
import { findCommand, subcommandsOf } from '../../src/cli/commands/all-commands.ts'
import { readGiven } from '../../src/cli/run/read-arguments.ts'

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))
const PAGES = ['guide', 'recordings'].flatMap((folder) =>
  readdirSync(join(docs, folder)).map((name) => join(folder, name)),
)

/** The README is about a clone, where `toolroom` is no command. Its blocks are indented below the steps of the tour. */
const README = readFileSync(join(docs, '../README.md'), 'utf8')
  .replaceAll('node dist/main.js', 'toolroom')
  .replace(/^ {3}/gm, '')

/** The command lines of a page: typed at a prompt, or in a block of `sh`. What comes after them in a shell is left out. */
function typedIn(page: string): string[] {
  const blocks = page.match(/^```.*\n[\s\S]*?^```$/gm) ?? []
  return blocks.flatMap((block) => {
    const typed = block.startsWith('```sh') ? /^(?:.*(?:&&|\|\|) )?toolroom\b.*/gm : /^\$ toolroom\b.*/gm
    return (block.match(typed) ?? []).flatMap((line) =>
      line
        .replace(/^\$ /, '')
        .split(/ (?:\||\|\||&&|;) | +#/)
        .filter((part) => part.startsWith('toolroom')),
    )
  })
}

const wordsOf = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).slice(1).map((word) => word.replace(/^'|'$/g, ''))

test.each([...PAGES, 'README'])(
  'every command and flag that %s shows is in the table of commands',
  (name) => {
    const page = name === 'README' ? README : readFileSync(join(docs, name), 'utf8')
    for (const line of typedIn(page)) {
      const words = wordsOf(line)
      if (words.length === 0) continue // `toolroom` alone
      const found = findCommand(words) ?? expect.unreachable(`${line} is no command`)
      const { command } = found
      if (command.load)
        expect(() => readGiven(command, found.words, subcommandsOf(command.name)), line).not.toThrow()
    }
    // Commands that are named in the text and in outputs.
    for (const [whole, ...words] of page.matchAll(
      /(?<=`|next: |Then: +|Try |why {2}|Run {2})toolroom ([a-z-]+)(?: ([a-z-]+))?/g,
    ))
      expect(findCommand(words.filter(Boolean)), `${name}: ${whole}`).toBeDefined()
  },
)

test('each task of the guide ends with a check, which is a command', () => {
  for (const name of PAGES.filter((path) => /^guide\/(?!README)/.test(path))) {
    const page = readFileSync(join(docs, name), 'utf8')
    const check = page.split(/^## /m).at(-1) ?? ''
    expect(check, name).toMatch(/^Check\n\n```(?:sh)?\n(?:\$ )?[a-z]/)
  }
})

const docOf = (name: string) => readFileSync(join(docs, name), 'utf8')

test('the README and docs/features.md name as many agents as there are, and the README the versions of Node that the package allows', () => {
  const named = ['Claude Code', 'Cursor', 'VS Code', 'Codex']
  for (const page of [README, docOf('features.md')])
    expect(page.replace(/\s+/g, ' ')).toContain(
      `${named.slice(0, 3).join(', ')}, Codex and ${AGENTS.length - named.length} other agents`,
    )
  const { engines } = JSON.parse(docOf('../package.json'))
  expect(README).toContain(`| Linux | ${engines.node.replace('>=', '')} or newer |`)
})

test('a call takes less than twice the time of the two hops that every gateway needs, as docs/features.md says: so it was measured, and the bench fails otherwise', () => {
  expect(docOf('features.md').replace(/\s+/g, ' ')).toContain(
    'a call takes less than twice the time of the two hops every gateway needs',
  )
  const rows = [
    ...docOf('performance.md').matchAll(
      /^\| tools\/call(.*?), p50 \| stdio hop \+ http-floor \| ([\d.]+) .*$/gm,
    ),
  ]
  expect(rows.map(([, era]) => era)).toEqual(['', ' of 2026-07-28'])
  for (const [, , figure] of rows) expect(Number(figure)).toBeLessThan(2)
  expect(Number(/tools\/call, p50 .*\| ≤ ([\d.]+) \|/.exec(docOf('performance.md'))?.[1])).toBeLessThan(2)
})
