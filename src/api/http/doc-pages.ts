import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { CATALOGUE, type ErrorCode } from '../../kernel/error-catalogue.ts'
import { AppError } from '../../kernel/errors.ts'
import { ERROR_TEXTS, isErrorCode } from './error-texts.ts'
import { TEXT_PAGE_HEADERS } from './security-headers.ts'

const HTML = 'text/html; charset=utf-8'
const PAGE = /^[a-z][a-z0-9-]{0,63}$/

interface DocOptions {
  /** The folder with the rendered guide. */
  readonly docsFolder?: string | undefined
  /** How a command line of this installation begins. */
  readonly programName?: string | undefined
}

/** A page for every error code, and the guide, which the build renders from docs/. Nothing comes from another machine. */
export function serveDocPages(app: FastifyInstance, { docsFolder, programName }: DocOptions): void {
  const hidden = { schema: { hide: true } }
  app.get('/docs/assets/docs.css', hidden, async (_, reply) =>
    reply.type('text/css; charset=utf-8').send(STYLE),
  )
  app.get('/docs/errors', hidden, async (_, reply) =>
    reply.headers(TEXT_PAGE_HEADERS).type(HTML).send(errorIndex()),
  )
  app.get<{ Params: { code: string } }>('/docs/errors/:code', hidden, async ({ params: { code } }, reply) => {
    if (!isErrorCode(code))
      throw new AppError('not_found', `The error code '${code.slice(0, 100)}' does not exist`)
    return reply.headers(TEXT_PAGE_HEADERS).type(HTML).send(errorPage(code, programName))
  })
  app.get('/docs/guide', hidden, async (_, reply) =>
    reply.headers(TEXT_PAGE_HEADERS).type(HTML).send(guidePage('index', docsFolder)),
  )
  app.get<{ Params: { page: string } }>('/docs/guide/:page', hidden, async ({ params }, reply) =>
    reply.headers(TEXT_PAGE_HEADERS).type(HTML).send(guidePage(params.page, docsFolder)),
  )
}

function guidePage(name: string, docsFolder: string | undefined): string {
  const html = docsFolder !== undefined && PAGE.test(name) ? readPage(docsFolder, name) : undefined
  if (html === undefined)
    throw new AppError('not_found', `The guide has no page '${name.slice(0, 100)}'`, {
      hint: 'See /docs/guide for all pages',
    })
  return textPage(/<h1[^>]*>(.*?)<\/h1>/.exec(html)?.[1]?.replaceAll(/<[^>]*>/g, '') ?? 'Guide', html)
}

function readPage(docsFolder: string, name: string): string | undefined {
  try {
    return readFileSync(join(docsFolder, 'guide', `${name}.html`), 'utf8')
  } catch {
    return undefined // there is no such page
  }
}

function errorIndex(): string {
  const rows = Object.entries(CATALOGUE).map(
    ([code, { status, title }]) =>
      `<li><a href="/docs/errors/${code}">${code}</a> (${status}): ${title}</li>`,
  )
  return textPage('Errors', `<h1>Errors</h1><ul>${rows.join('')}</ul>`)
}

function errorPage(code: ErrorCode, programName = 'toolroom'): string {
  const { status, title } = CATALOGUE[code]
  const { happened, todo } = ERROR_TEXTS[code]
  return textPage(
    title,
    `<h1>${title}</h1><p>HTTP ${status}, code <code>${code}</code></p><h2>What happened</h2><p>${inline(happened)}</p>
<h2>What to do</h2><p>${inline(todo.replaceAll('`toolroom ', () => `\`${programName} `))}</p>`,
  )
}

const inline = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/`([^`]+)`/g, '<code>$1</code>')

const textPage = (title: string, body: string): string =>
  page(
    `${title} · Toolroom`,
    '<link rel="stylesheet" href="/docs/assets/docs.css">',
    `<nav><a href="/">Dashboard</a><a href="/docs/guide">Guide</a><a href="/docs/errors">Errors</a><a href="/docs">API</a></nav>
<main>${body}</main>`,
  )

export function page(title: string, head: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><link rel="icon" href="/docs/assets/favicon-32x32.png">${head}</head><body>${body}</body></html>
`
}

const STYLE = `:root{color-scheme:light dark;--line:light-dark(#dfe3e8,#2a323b);--sunken:light-dark(#f1f3f6,#171c22)}
body{font:16px/1.6 system-ui,sans-serif;margin:0 auto;max-width:48rem;padding:1rem;color:light-dark(#1b2128,#e6eaef);background:light-dark(#fff,#0f1317)}
nav{display:flex;flex-wrap:wrap;gap:1.25rem;padding:.25rem 0 1rem;border-bottom:1px solid var(--line)}
a{color:light-dark(#0b57b5,#8ec2ff)}
h1{font-size:1.75rem;line-height:1.25}h2{margin-top:2.25rem}h1,h2,h3{text-wrap:balance}
code{font:.9em ui-monospace,Menlo,Consolas,monospace;background:var(--sunken);border-radius:4px;padding:.1em .3em;overflow-wrap:anywhere}
pre{background:var(--sunken);border-radius:8px;padding:.75rem 1rem;overflow-x:auto;line-height:1.45}
pre code{background:none;padding:0;overflow-wrap:normal}
.table{overflow-x:auto}table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
blockquote{margin:1rem 0;padding-left:1rem;border-left:3px solid var(--line)}
`
