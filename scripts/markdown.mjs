// Turns the Markdown of docs/ into HTML: headings, paragraphs, lists, tables, quotes, code, links and emphasis. Everything
// else is text, so a document cannot bring HTML of its own, except for `<a id="…"></a>` on a line. Pictures are left out: the
// package does not contain them.

/**
 * @param {string} text
 * @param {(href: string) => string | undefined} linkOf the address of a link; undefined for a link that becomes text
 * @returns {string} HTML
 */
export function renderMarkdown(text, linkOf) {
  const ids = new Set()
  return blocks(text.split('\n'), { linkOf, ids }).join('\n')
}

/** As on GitHub: `## When a tool changes` is `#when-a-tool-changes`. */
export function headingId(text, taken = new Set()) {
  const base = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
  let id = base
  for (let n = 1; taken.has(id); n++) id = `${base}-${n}`
  taken.add(id)
  return id
}

const FENCE = /^\s*```(\w*)\s*$/
const HEADING = /^(#{1,4}) (.+)$/
const ITEM = /^([-*]|\d+\.) /
const ANCHOR = /^<a id="([\w.-]+)"><\/a>$/

function blocks(lines, context) {
  const html = []
  for (let at = 0; at < lines.length; ) {
    const { end, block } = blockAt(lines, at, context)
    if (block) html.push(block)
    at = end
  }
  return html
}

function blockAt(lines, at, context) {
  const line = lines[at]
  const heading = HEADING.exec(line)
  const anchor = ANCHOR.exec(line)
  if (line.trim() === '') return { end: at + 1 }
  if (FENCE.test(line)) return codeAt(lines, at)
  if (line === '<picture>') return { end: Math.max(at, lines.indexOf('</picture>', at)) + 1 }
  if (anchor) return { end: at + 1, block: `<a id="${anchor[1]}"></a>` }
  if (heading) return { end: at + 1, block: headingOf(heading, context) }
  if (line.startsWith('|') && /^\|[\s:|-]+\|$/.test(lines[at + 1] ?? '')) return tableAt(lines, at, context)
  if (line.startsWith('>')) return quoteAt(lines, at, context)
  if (ITEM.test(line)) return listAt(lines, at, context)
  return paragraphAt(lines, at, context)
}

function headingOf([, marks, text], { ids, linkOf }) {
  const level = marks.length
  return `<h${level} id="${headingId(text, ids)}">${inline(text, linkOf)}</h${level}>`
}

function codeAt(lines, at) {
  const [, language] = FENCE.exec(lines[at])
  const indent = /^\s*/.exec(lines[at])[0].length
  const close = lines.findIndex((line, index) => index > at && FENCE.test(line))
  const end = close === -1 ? lines.length : close
  const code = lines.slice(at + 1, end).map((line) => line.slice(indent))
  const kind = language === '' ? '' : ` class="${language}"`
  return { end: end + 1, block: `<pre><code${kind}>${escaped(code.join('\n'))}</code></pre>` }
}

function tableAt(lines, at, { linkOf }) {
  const end = endOf(lines, at, (line) => line.startsWith('|'))
  const row = (line, tag) =>
    `<tr>${cellsOf(line)
      .map((cell) => `<${tag}>${inline(cell, linkOf)}</${tag}>`)
      .join('')}</tr>`
  const body = lines.slice(at + 2, end).map((line) => row(line, 'td'))
  return {
    end,
    block: `<div class="table"><table><thead>${row(lines[at], 'th')}</thead><tbody>${body.join('\n')}</tbody></table></div>`,
  }
}

const cellsOf = (line) =>
  line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

function quoteAt(lines, at, context) {
  const end = endOf(lines, at, (line) => line.startsWith('>'))
  const inner = lines.slice(at, end).map((line) => line.replace(/^> ?/, ''))
  return { end, block: `<blockquote>${blocks(inner, context).join('\n')}</blockquote>` }
}

/** An item continues with indented lines, and with blank lines in front of indented ones. */
function listAt(lines, at, context) {
  const tag = /^\d/.test(lines[at]) ? 'ol' : 'ul'
  const items = []
  let end = at
  while (ITEM.test(lines[end] ?? '')) {
    const width = ITEM.exec(lines[end])[0].length
    const from = end++
    while (continues(lines, end)) end++
    const own = [
      lines[from].slice(width),
      ...lines.slice(from + 1, end).map((line) => line.replace(/^ {1,4}/, '')),
    ]
    items.push(`<li>${itemOf(own, context)}</li>`)
    while (lines[end]?.trim() === '' && ITEM.test(lines[end + 1] ?? '')) end++
  }
  return { end, block: `<${tag}>${items.join('\n')}</${tag}>` }
}

function continues(lines, at) {
  const next = lines.slice(at, at + 2).find((line) => line.trim() !== '')
  return next !== undefined && /^ {2,}\S/.test(next) && lines[at] !== undefined
}

/** An item that is one paragraph has no `<p>`. */
function itemOf(lines, context) {
  const html = blocks(lines, context)
  if (html[0]?.startsWith('<p>')) html[0] = html[0].slice('<p>'.length, -'</p>'.length)
  return html.join('\n')
}

function paragraphAt(lines, at, { linkOf }) {
  const isText = (line) =>
    line.trim() !== '' && !FENCE.test(line) && !HEADING.test(line) && !ITEM.test(line) && !/^[|>]/.test(line)
  const end = Math.max(endOf(lines, at, isText), at + 1)
  const text = lines.slice(at, end).map((line) => line.trim())
  return { end, block: `<p>${inline(text.join('\n'), linkOf)}</p>` }
}

function endOf(lines, at, belongs) {
  const length = lines.slice(at).findIndex((line) => !belongs(line))
  return length === -1 ? lines.length : at + length
}

const INLINE =
  /(?<ticks>`+)(?<code>.+?)\k<ticks>(?!`)|\[(?<label>(?:[^\]`]|`[^`]*`)+)\]\((?<href>[^)\s]+)\)|\*\*(?<strong>.+?)\*\*|\*(?<em>[^\s*][^*]*)\*|<(?<address>https?:[^>\s]+)>|\\(?<literal>[\\`*[\]()<>|_#-])/gs

function inline(text, linkOf) {
  let html = ''
  let done = 0
  for (const { index, 0: whole, groups } of text.matchAll(INLINE)) {
    html += escaped(text.slice(done, index)) + element(groups, linkOf)
    done = index + whole.length
  }
  return html + escaped(text.slice(done))
}

function element({ code, label, href, strong, em, address, literal }, linkOf) {
  if (code !== undefined) return `<code>${escaped(code)}</code>`
  if (strong !== undefined) return `<strong>${inline(strong, linkOf)}</strong>`
  if (em !== undefined) return `<em>${inline(em, linkOf)}</em>`
  if (literal !== undefined) return escaped(literal)
  if (address !== undefined) return link(address, escaped(address))
  const to = linkOf(href)
  return to === undefined ? inline(label, linkOf) : link(to, inline(label, linkOf))
}

const link = (href, html) => `<a href="${escaped(href)}">${html}</a>`

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
