import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../test/support/folder.ts'
import { buildDocs, guidePages } from './build-docs.mjs'
import { renderMarkdown } from './markdown.mjs'

test('every link of the guide leads to a page and a heading that exist', () => {
  const folder = ownFolder()
  buildDocs(folder)
  const pages = new Map(
    [...guidePages().values()].map((name) => [
      name === 'index' ? '/docs/guide' : `/docs/guide/${name}`,
      readFileSync(join(folder, 'guide', `${name}.html`), 'utf8'),
    ]),
  )
  expect(pages.size).toBe(guidePages().size)
  for (const [page, html] of pages)
    for (const [, href = ''] of html.matchAll(/<a href="(\/docs\/guide[^"]*|#[^"]*)"/g)) {
      const [address = '', id] = href.split('#')
      const target = pages.get(address === '' ? page : address)
      expect(target, `${page} has a link to ${href}`).toBeDefined()
      if (id) expect(target, `${page} has a link to ${href}`).toContain(`id="${id}"`)
    }
})

test.each([
  ['# A *b* `c`', '<h1 id="a-b-c">A <em>b</em> <code>c</code></h1>'],
  ['one\ntwo\n\nthree', '<p>one\ntwo</p>\n<p>three</p>'],
  ['- a\n- b\n  more\n\n  next', '<ul><li>a</li>\n<li>b\nmore\n<p>next</p></li></ul>'],
  [
    '1. a\n\n   ```sh\n   ls -l\n   ```\n2. b',
    '<ol><li>a\n<pre><code class="sh">ls -l</code></pre></li>\n<li>b</li></ol>',
  ],
  ['```\n<b> & "c"\n# no\n```', '<pre><code>&lt;b&gt; &amp; &quot;c&quot;\n# no</code></pre>'],
  [
    '| A | B |\n|---|---|\n| `a \\| b` | **c** |',
    '<div class="table"><table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td><code>a | b</code></td><td><strong>c</strong></td></tr></tbody></table></div>',
  ],
  ['a\n\n<picture>\n  <img src="b">\n</picture>\n\nc', '<p>a</p>\n<p>c</p>'],
  ['> a\n>\n> b', '<blockquote><p>a</p>\n<p>b</p></blockquote>'],
  ['<script>alert(1)</script>', '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  [
    '[a `b`](x.md) [c](no.md) <https://example.com/>',
    '<p><a href="/x.md">a <code>b</code></a> c <a href="https://example.com/">https://example.com/</a></p>',
  ],
  ['[a](x"onclick=1)', '<p><a href="/x&quot;onclick=1">a</a></p>'],
])('%j is rendered as HTML', (text, html) => {
  expect(renderMarkdown(text, (href) => (href === 'no.md' ? undefined : `/${href}`))).toBe(html)
})
