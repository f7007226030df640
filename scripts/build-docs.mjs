// Renders docs/ into a folder, for /docs/guide. Called by build.mjs when a document has changed.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { posix, resolve } from 'node:path'
import { filesUnder, root } from './lib.mjs'
import { renderMarkdown } from './markdown.mjs'

/** By path: the tasks, the reference pages and the pages about logins. Errors have pages of their own. */
export function guidePages() {
  const paths = filesUnder('docs').filter((path) =>
    /^docs\/(?:guide\/|login\/|recordings\/)?[\w-]+\.md$/.test(path),
  )
  const pages = paths.filter((path) => path !== 'docs/README.md' && path !== ERRORS)
  return new Map(pages.map((path) => [path, nameOf(path)]))
}

/** @param {string} outDir absolute, or relative to the root of the repository */
export function buildDocs(outDir) {
  const pages = guidePages()
  const folder = resolve(root, outDir, 'guide')
  mkdirSync(folder, { recursive: true })
  for (const [path, name] of pages) {
    const text = readFileSync(resolve(root, path), 'utf8')
    writeFileSync(
      resolve(folder, `${name}.html`),
      renderMarkdown(text, (href) => addressOf(href, path, pages)),
    )
  }
}

const ERRORS = 'docs/errors.md'

/** `docs/guide/at-login.md` and `docs/gateway.md` are `at-login` and `gateway`; `docs/login/ssh.md` is `login-ssh`. */
function nameOf(path) {
  if (path === 'docs/guide/README.md') return 'index'
  return path.replace(/^docs\/(?:guide\/)?|\.md$/g, '').replaceAll('/', '-')
}

/** Where a link of a document leads in the running service. Files that are not served have no address. */
export function addressOf(href, from, pages) {
  if (/^(?:https?:|#|\/docs)/.test(href)) return href
  const [file, fragment] = href.split('#')
  const path = posix.join(posix.dirname(from), file)
  if (!existsSync(resolve(root, path))) throw new Error(`${from} has a link to ${href}, which does not exist`)
  if (path === ERRORS) return fragment ? `/docs/errors/${fragment}` : '/docs/errors'
  const name = pages.get(path)
  if (name === undefined) return undefined
  const page = name === 'index' ? '/docs/guide' : `/docs/guide/${name}`
  return fragment ? `${page}#${fragment}` : page
}
