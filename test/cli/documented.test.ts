import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
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
