import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** The rules of web/README.md. */

const LONGEST_FILE = 250
const MOST_FILES = 22
const root = fileURLToPath(new URL('../../web/src', import.meta.url))
const files = new Map(
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
)
const imports = [...files].flatMap(([file, text]) =>
  [...text.matchAll(/(?:from|import\(|import)\s*'(\.[^']+)'/g)].map(([, specifier = '']) => ({
    file,
    target: posix.normalize(posix.join(posix.dirname(file), specifier)),
  })),
)

/** Which folders of web/src a folder may import. `pages/x` may import itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'main.tsx': ['app', 'data', 'keyboard', 'theme'],
  app: ['pages', 'parts', 'data', 'theme', 'i18n', 'url', 'keyboard', 'format'],
  pages: ['parts', 'data', 'i18n', 'url', 'keyboard', 'format'],
  parts: ['data', 'i18n', 'url', 'keyboard', 'format'],
  data: ['i18n', 'url', 'format'],
  theme: ['i18n'],
  i18n: [],
  url: [],
  keyboard: [],
  format: [],
}
/** Keys that are values of the API. */
const FROM_THE_API: Readonly<Record<string, readonly string[]>> = {
  'pages/agent/messages.ts': [
    ...['added', 'changed', 'removed', 'switched_off', 'switched_on', 'taken_over', 'brought_back'],
  ],
  'pages/settings/messages.ts': ['updated', 'unchanged', 'exists', 'refused'],
  'pages/server/overview/messages.ts': [
    ...['on_demand', 'eager', 'manual'],
    ...['none', 'needs_login', 'logged_in', 'expired', 'refused'],
  ],
}

/** The keys that a file asks for in a table, as patterns: `last${window}` may be many. */
function keysIn(code: string, table: string): RegExp[] {
  const specifier = table.startsWith('.') ? table : `./${table}`
  const named =
    new RegExp(`import \\{([^}]*)\\} from '${specifier.replaceAll('.', '\\.')}'`).exec(code)?.[1] ?? ''
  const name = /\bt as (\w+)/.exec(named)?.[1] ?? 't'
  const calls = code.matchAll(
    new RegExp(`(?<![\\w.])${name}(?:\\.rich)?\\(\\s*(?:'([^']+)'|\`([^\`]+)\`)`, 'g'),
  )
  return [...calls].map(
    ([, key = '', template = key]) => new RegExp(`^${template.replace(/\$\{[^}]+\}/g, '\\w+')}$`),
  )
}
const folderOf = (file: string) => file.split('/')[0] ?? file
const pageOf = (file: string) => /^pages\/([^/]+)/.exec(file)?.[1]

describe('the code of the dashboard', () => {
  test('a folder imports only what the table allows', () => {
    const wrong = imports.filter(({ file, target }) => {
      const [own, other] = [folderOf(file), folderOf(target)]
      return own !== other && other !== '..' && !ALLOWED[own]?.includes(other)
    })
    expect(wrong).toEqual([])
  })

  test('no page imports another page, and no page knows the live stream', () => {
    const wrong = imports.filter(({ file, target }) => {
      const page = pageOf(file)
      if (page === undefined) return false
      return (pageOf(target) ?? page) !== page || target.startsWith('data/live/connection')
    })
    expect(wrong).toEqual([])
    const sockets = [...files]
      .filter(([, text]) => /new (?:WebSocket|EventSource)\b/.test(text))
      .map(([file]) => file)
    expect(sockets).toEqual(['data/live/connection.ts'])
  })

  test('outside of it only the client of the REST API and its types are imported', () => {
    const outside = new Set(imports.map(({ target }) => target).filter((target) => target.startsWith('../')))
    expect([...outside].sort()).toEqual(['../../src/api/client/client.ts', '../generated/api.d.ts'])
  })

  test(`no file has more than ${LONGEST_FILE} lines, and no folder lists more than ${MOST_FILES} files`, () => {
    const long = [...files].filter(([, text]) => text.trimEnd().split('\n').length > LONGEST_FILE)
    expect(long.map(([file]) => file)).toEqual([])
    const counts = new Map<string, number>()
    for (const file of files.keys()) {
      if (file.endsWith('.css')) continue
      const folder = posix.dirname(file)
      counts.set(folder, (counts.get(folder) ?? 0) + 1)
    }
    expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([])
  })

  test('every text is used, and every text that is used exists', () => {
    const tables = [...files].filter(([file]) => file.endsWith('/messages.ts'))
    const wrong = tables.flatMap(([file, text]) => {
      const keys = [...text.matchAll(/^ {2}(?:'([^']+)'|(\w+)):/gm)].map(
        ([, quoted, plain]) => quoted ?? plain ?? '',
      )
      const users = imports.filter(({ target }) => target === file)
      const called = users.flatMap(({ file: user }) =>
        keysIn(files.get(user) ?? '', posix.relative(posix.dirname(user), file)),
      )
      const beside = [...files].filter(
        ([other]) => other !== file && other.startsWith(`${posix.dirname(file)}/`),
      )
      const code = beside.map(([, other]) => other).join('\n')
      const isUsed = (key: string) =>
        called.some((pattern) => pattern.test(key)) ||
        new RegExp(`'${key}'|\\b${key}: '`).test(code) ||
        FROM_THE_API[file]?.includes(key)
      return [
        ...keys.filter((key) => !isUsed(key)).map((key) => `${file}: ${key} is not used`),
        ...called
          .filter((pattern) => !keys.some((key) => pattern.test(key)))
          .map((pattern) => `${file}: ${pattern.source} is missing`),
      ]
    })
    expect(tables.length).toBeGreaterThan(15)
    expect(wrong).toEqual([])
  })

  test('every class that a component takes from a style sheet is in it', () => {
    const missing = [...files].flatMap(([file, text]) =>
      [...text.matchAll(/import (\w+) from '(\.[^']+\.module\.css)'/g)].flatMap(
        ([, name = '', sheet = '']) => {
          const styles = files.get(posix.normalize(posix.join(posix.dirname(file), sheet))) ?? ''
          const defined = new Set([...styles.matchAll(/\.([A-Za-z][\w-]*)/g)].map(([, each]) => each))
          const used = [...text.matchAll(new RegExp(`\\b${name}\\.([A-Za-z]\\w*)`, 'g'))].map(
            ([, each]) => each,
          )
          return used
            .filter((each) => each !== 'module' && !defined.has(each))
            .map((each) => `${file}: ${name}.${each}`)
        },
      ),
    )
    expect(missing).toEqual([])
  })

  test('every part that is exported is drawn on the page /parts', () => {
    const exported = [...files]
      .filter(([file]) => /^parts\/.*\.tsx$/.test(file))
      .flatMap(([, text]) => [...text.matchAll(/^export (?:function|const) ([A-Z][a-z]\w*)/gm)])
      .map(([, name = '']) => name)
    const page = [...files].filter(([file]) => file.startsWith('pages/parts/')).map(([, text]) => text)
    const missing = exported.filter((name) => !page.some((text) => new RegExp(`<${name}\\b`).test(text)))
    expect(exported.length).toBeGreaterThan(30)
    expect(missing).toEqual([])
  })

  test('colours are tokens: no other file names one, and the token of the user is kept nowhere but in sessionStorage', () => {
    const named = [...files].filter(
      ([file, text]) =>
        !/^theme\/|\.svg$/.test(file) &&
        /#[0-9a-f]{3,8}\b(?!\w)|\brgba?\(/i.test(text.replace(/'#[a-z]\w*'/gi, '')),
    )
    expect(named.map(([file]) => file)).toEqual([])
    const keepers = [...files].filter(([, text]) => /toolroom\.token/.test(text)).map(([file]) => file)
    expect(keepers).toEqual(['data/session.ts'])
    expect(files.get('data/session.ts')).not.toMatch(/localStorage|document\.cookie/)
  })
})
