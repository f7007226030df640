import type { Page } from 'playwright-core'

/**
 * What is wrong with the layout of the page as it is drawn now, measured by the browser: boxes of texts, of controls, of
 * scroll areas and of table cells. Each fault is a sentence with the texts and their rectangles. `within` is the selector of
 * what came on top, such as a dialog; the rest of the page is not measured then.
 */
export async function layoutFaults(page: Page, within = 'body'): Promise<string[]> {
  return page.evaluate(findFaults, within)
}

/** Nothing is read any more, and what was read is drawn. */
export async function untilDrawn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    for (let still = 0; still < 3; still += 1) {
      await frame()
      if ((window as unknown as { reads: number }).reads > 0) still = 0
    }
  })
}

/** Before the first page is opened: requests are counted, and the texts that are drawn on canvases are recorded. */
export async function watchDrawing(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const counted = window as unknown as { reads: number }
    counted.reads = 0
    const { fetch } = window
    window.fetch = async (...request) => {
      counted.reads += 1
      try {
        return await fetch(...request)
      } finally {
        counted.reads -= 1
      }
    }
    const drawn = new WeakMap<HTMLCanvasElement, unknown[]>()
    Object.assign(window, { drawnTexts: drawn })
    const { fillText, clearRect } = CanvasRenderingContext2D.prototype
    CanvasRenderingContext2D.prototype.fillText = function (text: string, x: number, y: number) {
      const { a, d, e, f } = this.getTransform()
      const { actualBoundingBoxLeft, actualBoundingBoxRight, actualBoundingBoxAscent } =
        this.measureText(text)
      const box = {
        text,
        left: (x - actualBoundingBoxLeft) * a + e,
        right: (x + actualBoundingBoxRight) * a + e,
        top: (y - actualBoundingBoxAscent) * d + f,
        bottom: y * d + f,
      }
      drawn.set(this.canvas, [...(drawn.get(this.canvas) ?? []), box])
      fillText.call(this, text, x, y)
    }
    CanvasRenderingContext2D.prototype.clearRect = function (...at) {
      drawn.delete(this.canvas)
      clearRect.apply(this, at)
    }
  })
}

/** Runs in the page. */
function findFaults(within: string): string[] {
  interface Box {
    readonly left: number
    readonly top: number
    readonly right: number
    readonly bottom: number
  }
  interface Drawn extends Box {
    readonly text: string
  }
  interface Fragment {
    readonly node: Text
    readonly element: Element
    readonly shown: Box
  }

  /** A text stays inside of these. */
  const HOLDERS =
    'button, td, th, [role=gridcell], [role=rowheader], [role=columnheader], [role=status], figcaption, legend'
  const LEAST_SHOWN = 24
  const CONTROLS =
    'a[href], button, input:not([type=hidden]), select, textarea, [role=checkbox], [role=switch], [role=tab], [role=menuitem], [role=option], [tabindex="0"]:not(section, [role=log])'
  /** What may scroll sideways besides tables: verbatim lines, and tabs. */
  const SIDEWAYS = '[role=tablist], figure *, code, pre'
  /** In a window of this height there is no room for lists that have a scroll bar of their own, so the page has one, too. */
  const LOW = 480
  const root = document.querySelector(within)
  if (!root) return [`${within} is not there`]
  const faults: string[] = []
  const whole = document.documentElement
  const content = document.getElementById('content')
  const hasFrame = content !== null && getComputedStyle(content).overflowY === 'auto'
  /** What the window shows; a page without a frame, such as the first run, scrolls as a whole. */
  const view: Box = { left: 0, top: 0, right: window.innerWidth, bottom: window.innerHeight }
  const sheet: Box = hasFrame
    ? view
    : { left: 0, top: -window.scrollY, right: window.innerWidth, bottom: whole.scrollHeight - window.scrollY }

  const styles = new WeakMap<Element, CSSStyleDeclaration>()
  const styleOf = (element: Element): CSSStyleDeclaration => {
    const known = styles.get(element) ?? getComputedStyle(element)
    styles.set(element, known)
    return known
  }
  const boxOf = ({ left, top, right, bottom }: DOMRect): Box => ({ left, top, right, bottom })
  const common = (a: Box, b: Box): Box => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  })
  const widthOf = ({ left, right }: Box) => right - left
  const heightOf = ({ top, bottom }: Box) => bottom - top
  const isEmpty = (box: Box) => widthOf(box) <= 0.5 || heightOf(box) <= 0.5
  const at = ({ left, top, right, bottom }: Box) =>
    `[${[left, top, right, bottom].map(Math.round).join(' ')}]`
  const said = (text: string | null) => `"${(text ?? '').replace(/\s+/g, ' ').trim().slice(0, 60)}"`
  const nameOf = (element: Element) => {
    const name = element.getAttribute('aria-label') ?? element.textContent?.trim()
    return `<${element.tagName.toLowerCase()}> ${said(name || (element.getAttribute('class') ?? ''))}`
  }
  const isDrawn = (element: Element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true })

  /** The padding box of an element that clips what is in it, and how. */
  interface Clip {
    readonly element: Element
    readonly box: Box
    readonly x: string
    readonly y: string
  }
  const clips = new WeakMap<Element, readonly Clip[]>()
  /** What clips the contents of the element, from the inside out. */
  function clipsOf(element: Element): readonly Clip[] {
    const known = clips.get(element)
    if (known) return known
    const { overflowX: x, overflowY: y, position, clipPath } = styleOf(element)
    const isRoot = element === document.documentElement || element === document.body
    const isClipping = !isRoot && (x !== 'visible' || y !== 'visible' || clipPath !== 'none')
    const own: Clip[] = []
    if (isClipping) {
      const { left, top } = element.getBoundingClientRect()
      const [inLeft, inTop] = [left + element.clientLeft, top + element.clientTop]
      const box = {
        left: inLeft,
        top: inTop,
        right: inLeft + element.clientWidth,
        bottom: inTop + element.clientHeight,
      }
      own.push({ element, box, x: clipPath === 'none' ? x : 'hidden', y: clipPath === 'none' ? y : 'hidden' })
    }
    const all = [...own, ...(position === 'fixed' ? [] : clipsAround(element))]
    clips.set(element, all)
    return all
  }
  /** What clips the box of the element itself. */
  function clipsAround(element: Element): readonly Clip[] {
    const { position } = styleOf(element)
    let parent = element.parentElement
    if (position === 'absolute')
      while (parent && styleOf(parent).position === 'static' && styleOf(parent).transform === 'none')
        parent = parent.parentElement
    return parent ? clipsOf(parent) : []
  }
  const isScroller = (mode: string) => mode === 'auto' || mode === 'scroll'
  /** What can be seen of a box, and what cuts it in a way that no scrolling repairs. */
  function seen(box: Box, within: readonly Clip[]) {
    let shown = box
    let cutBy: Clip | undefined
    let isScrolledAway = false
    for (const clip of within) {
      const rest = common(shown, clip.box)
      const [outX, outY] = [
        shown.left < clip.box.left - 1 || shown.right > clip.box.right + 1,
        shown.top < clip.box.top - 1.5 || shown.bottom > clip.box.bottom + 1.5,
      ]
      if ((outX && !isScroller(clip.x)) || (outY && !isScroller(clip.y))) cutBy ??= clip
      shown = rest
      if (isEmpty(shown)) {
        isScrolledAway = cutBy === undefined
        break
      }
    }
    return {
      shown,
      cutBy,
      isScrolledAway,
      isOutside: !isScrolledAway && !cutBy && isEmpty(common(shown, sheet)),
    }
  }
  const isSkipLink = (element: Element) => element.closest('a[href="#content"]') !== null
  /** The element ends what does not fit in it with an ellipsis. */
  const isEllipsis = (element: Element) => styleOf(element).textOverflow === 'ellipsis'
  const isHidden = ({ element, box }: Clip) =>
    (widthOf(box) <= 1 && heightOf(box) <= 1) || styleOf(element).clipPath !== 'none'

  // Texts: those that are cut, squeezed or outside the view.
  const fragments: Fragment[] = []
  const cutBefore = new Set<Element>()
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  const visible = new WeakMap<Element, boolean>()
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    const element = node.parentElement
    if (!element || !/\S/.test(node.data) || element.closest('svg, script, style, option, noscript')) continue
    const isSeen = visible.get(element) ?? isDrawn(element)
    visible.set(element, isSeen)
    if (!isSeen) continue
    range.selectNodeContents(node)
    const rects = [...range.getClientRects()].filter(({ width, height }) => width > 0 && height > 0)
    const around = clipsOf(element)
    if (around.some(isHidden)) continue // for screen readers
    squeezed(node, element, rects)
    const holder = element.closest(HOLDERS)
    const edge =
      holder && styleOf(holder).display !== 'inline' ? boxOf(holder.getBoundingClientRect()) : undefined
    for (const rect of rects) {
      const box = boxOf(rect)
      if (edge && leaves(box, edge) && !around.some(({ element: clip }) => holder?.contains(clip))) {
        faults.push(
          `a text leaves its box: ${said(node.data)} ${at(box)} ${nameOf(holder as Element)} ${at(edge)}`,
        )
        break
      }
      const { shown, cutBy, isOutside } = seen(box, around)
      if (isOutside && !isSkipLink(element)) faults.push(`outside the view: ${said(node.data)} ${at(box)}`)
      // A space at the end of a line has no room.
      const isSpace = cutBy !== undefined && widthOf(box) < 10 && box.left > cutBy.box.right - 1
      if (cutBy && !isSpace && !cutBefore.has(cutBy.element)) {
        cutBefore.add(cutBy.element)
        cut(node, box, cutBy)
      }
      if (!isEmpty(common(shown, view))) fragments.push({ node, element, shown: common(shown, view) })
    }
  }

  /** More than the space above and below the letters. */
  function leaves(box: Box, edge: Box): boolean {
    return (
      box.left < edge.left - 1 ||
      box.right > edge.right + 1 ||
      box.top < edge.top - 4 ||
      box.bottom > edge.bottom + 4
    )
  }
  function cut(node: Text, box: Box, { element, box: edge }: Clip): void {
    const what = `${said(node.data)} ${at(box)} in ${nameOf(element)} ${at(edge)}`
    let block = node.parentElement
    while (block && styleOf(block).display.startsWith('inline') && block !== element)
      block = block.parentElement
    const isLow = box.top < edge.top - 1.5 || box.bottom > edge.bottom + 1.5
    if (isLow || block !== element || !isEllipsis(element)) faults.push(`cut without an ellipsis: ${what}`)
    else if (roomIn(element, edge) < Math.min(LEAST_SHOWN, widthOf(box)))
      faults.push(`cut to almost nothing: ${what}`)
    else if (!hasFullForm(element))
      faults.push(`cut, and its full form cannot be had with the keyboard: ${what}`)
  }
  /** For the letters before the ellipsis, whatever elements they are in. */
  function roomIn(element: Element, edge: Box): number {
    const { paddingLeft, paddingRight } = styleOf(element)
    return widthOf(edge) - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)
  }
  /** Toolroom shows the full form of what is cut on hover, and while something in it, around it or in its row has the focus. */
  function hasFullForm(element: Element): boolean {
    const row = element.closest(
      'a, button, label, tr, li, article, [role=row], [role=option], [role=menuitem], [tabindex]',
    )
    return (
      row !== null && (row.matches(CONTROLS) || row.querySelector(CONTROLS) !== null || row.matches('label'))
    )
  }
  /** A short word that is broken, and a text of which each line has a few letters only. */
  function squeezed(node: Text, element: Element, rects: readonly DOMRect[]): void {
    if (rects.length < 2) return
    const lines = new Set(rects.map(({ top }) => Math.round(top / 4))).size
    const text = node.data.trim()
    if (lines > 3 && text.length / lines < 4)
      faults.push(`squeezed into ${lines} lines: ${said(text)} ${at(boxOf(element.getBoundingClientRect()))}`)
    for (const { 0: word, index } of node.data.matchAll(
      /[^\s/\\.,:;@?&=_-]{2,11}(?=\s|$)|\d\d:\d\d(?::\d\d)?|\d (?:ms|s|B|kB|MB|GB|%)(?=\s|$)/g,
    )) {
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      const tops = [...range.getClientRects()]
        .filter(({ width }) => width > 0)
        .map(({ top }) => Math.round(top / 4))
      if (
        new Set(tops).size > 1 &&
        !isPart(node, index, word) &&
        (/^\d /.test(word) || /(^|\s)$/.test(node.data.slice(0, index)))
      )
        return void faults.push(
          `a word is broken: "${word}" in ${said(text)} ${at(boxOf(element.getBoundingClientRect()))}`,
        )
    }
  }

  /** Of a longer word, other letters of which are marked. */
  function isPart(node: Text, index: number, word: string): boolean {
    const beside = (which: 'previousSibling' | 'nextSibling') =>
      (node[which] ?? node.parentElement?.[which])?.textContent ?? ''
    return (
      (index === 0 && /\S$/.test(beside('previousSibling'))) ||
      (index + word.length === node.data.length && /^\S/.test(beside('nextSibling')))
    )
  }

  // Two texts in the same place, both of which are painted there.
  fragments.sort((a, b) => a.shown.top - b.shown.top)
  const overlapping = new Set<string>()
  /** Without the space above and below the letters. */
  const inner = ({ left, top, right, bottom }: Box): Box => {
    const air = (bottom - top) * 0.22
    return { left: left + 1, top: top + air, right: right - 1, bottom: bottom - air }
  }
  const isTransparent = (element: Element) => {
    const { backgroundColor, opacity } = styleOf(element)
    return (
      /^(?:transparent|rgba\(.*, 0(?:\.\d+)?\)|color\(.* \/ 0(?:\.\d+)?\))$/.test(backgroundColor) ||
      Number(opacity) < 0.9
    )
  }
  function isCovering(upper: Element, lower: Element, x: number, y: number): boolean {
    const stack = document.elementsFromPoint(x, y)
    const below = stack.findIndex(
      (each) => each === lower || (each.contains(lower) === false && lower.contains(each)),
    )
    const end = below < 0 ? stack.length : below
    return (
      stack.slice(0, end).some((each) => !each.contains(lower) && !isTransparent(each)) ||
      (below < 0 && stack.includes(upper))
    )
  }
  fragments.forEach((a, index) => {
    const first = inner(a.shown)
    for (let next = index + 1; next < fragments.length; next += 1) {
      const b = fragments[next]
      if (!b || b.shown.top > a.shown.bottom) break
      if (a.node === b.node) continue
      const both = common(first, inner(b.shown))
      if (widthOf(both) <= 1 || heightOf(both) <= 1) continue
      const [x, y] = [(both.left + both.right) / 2, (both.top + both.bottom) / 2]
      if (isCovering(a.element, b.element, x, y) || isCovering(b.element, a.element, x, y)) continue
      const key = `${said(a.node.data)} and ${said(b.node.data)}`
      if (!overlapping.has(key)) faults.push(`two texts overlap: ${key} ${at(a.shown)} ${at(b.shown)}`)
      overlapping.add(key)
    }
  })

  // Controls: each can be seen whole and pressed, perhaps after scrolling.
  const labelsOf = (element: Element) =>
    'labels' in element ? [...((element.labels as NodeList | null) ?? [])] : []
  function hitAt(control: Element, x: number, y: number): Element | undefined {
    const hit = document.elementFromPoint(x, y)
    if (!hit || control.contains(hit) || hit.contains(control)) return undefined
    if (
      labelsOf(control).some((label) => label.contains(hit)) ||
      hit.closest('label, .mantine-Input-wrapper')?.contains(control)
    )
      return undefined
    return hit
  }
  function coveredBy(control: Element, shown: Box): Element | undefined {
    // A link in a text may begin at the end of a line: each of its lines has a box.
    const lines = [...control.getClientRects()].map((line) => common(boxOf(line), shown))
    if (styleOf(control).display === 'inline' && lines.length > 1)
      return lines
        .filter((line) => !isEmpty(line))
        .map((line) => coveredAt(control, line))
        .find(Boolean)
    return coveredAt(control, shown)
  }
  function coveredAt(control: Element, shown: Box): Element | undefined {
    const [w, h] = [widthOf(shown), heightOf(shown)]
    for (const [x, y] of [
      [0.5, 0.5],
      [0.2, 0.25],
      [0.8, 0.75],
    ] as const) {
      const hit = hitAt(control, shown.left + w * x, shown.top + h * y)
      if (hit) return hit
    }
    return undefined
  }
  for (const control of root.querySelectorAll(CONTROLS)) {
    if (!control.checkVisibility({ visibilityProperty: true }) || styleOf(control).pointerEvents === 'none')
      continue
    const box = boxOf(control.getBoundingClientRect())
    const around = clipsAround(control)
    if (isEmpty(box) || around.some(isHidden) || control.closest('[aria-hidden=true], [inert]')) continue
    const { shown, cutBy, isScrolledAway } = seen(box, around)
    if (isSkipLink(control)) continue
    if (cutBy && isEllipsis(cutBy.element)) continue // its text ends with an ellipsis
    if (cutBy)
      faults.push(
        `a control is cut: ${nameOf(control)} ${at(box)} in ${nameOf(cutBy.element)} ${at(cutBy.box)}`,
      )
    else if (
      !isScrolledAway &&
      (shown.left < sheet.left - 1 ||
        shown.right > sheet.right + 1 ||
        shown.top < sheet.top - 1 ||
        shown.bottom > sheet.bottom + 1)
    )
      faults.push(`a control is outside the view: ${nameOf(control)} ${at(box)}`)
    else if (!isScrolledAway && heightOf(shown) > 3 && widthOf(shown) > 3) {
      if (isEmpty(common(shown, view)) || !coveredBy(control, common(shown, view))) continue
      const [scrollX, scrollY] = [window.scrollX, window.scrollY]
      const places = around.map(({ element }) => [element, element.scrollTop, element.scrollLeft] as const)
      control.scrollIntoView({ block: 'center', inline: 'nearest' })
      const now = common(seen(boxOf(control.getBoundingClientRect()), around).shown, view)
      const hit = isEmpty(now) ? undefined : coveredBy(control, now)
      if (hit)
        faults.push(
          `a control is covered: ${nameOf(control)} ${at(now)} by ${nameOf(hit)} ${at(boxOf(hit.getBoundingClientRect()))}`,
        )
      for (const [element, top, left] of places) element.scrollTo({ top, left, behavior: 'instant' })
      window.scrollTo({ left: scrollX, top: scrollY, behavior: 'instant' })
    }
  }

  // Scroll areas: each has a name, and none is inside another one of the same direction.
  const scrolling: { readonly element: Element; readonly x: boolean; readonly y: boolean }[] = []
  for (const element of [root, ...root.querySelectorAll('*')]) {
    if (element.matches('textarea, input, select') || !element.checkVisibility()) continue
    const [wide, tall] = [
      element.scrollWidth > element.clientWidth + 1,
      element.scrollHeight > element.clientHeight + 1,
    ]
    if (!wide && !tall) continue
    const { overflowX, overflowY } = styleOf(element)
    const [x, y] = [wide && isScroller(overflowX), tall && isScroller(overflowY)]
    if (!x && !y) continue
    const where = `${nameOf(element)} ${at(boxOf(element.getBoundingClientRect()))}`
    const isPage = element.id === 'content'
    const hasName = element.getAttribute('aria-label') || element.getAttribute('aria-labelledby')
    if (
      !isPage &&
      !(hasName && element.getAttribute('role') !== null) &&
      !(hasName && element.matches('section, nav, ul, ol'))
    )
      faults.push(`a scroll area has no name: ${where}`)
    if (isPage && x)
      faults.push(`the page scrolls sideways: ${element.scrollWidth} in ${element.clientWidth} px`)
    const outer = scrolling.find((each) => each.element.contains(element) && ((x && each.x) || (y && each.y)))
    const isTable = [...element.querySelectorAll('table, [role=grid]')].some(
      (table) => table.getBoundingClientRect().width > element.clientWidth + 1,
    )
    if (x && !isPage && !isTable && !element.matches(SIDEWAYS)) faults.push(`it scrolls sideways: ${where}`)
    if (outer && view.bottom > LOW)
      faults.push(`a scroll area inside another: ${where} in ${nameOf(outer.element)}`)
    scrolling.push({ element, x, y })
  }
  const { scrollWidth, scrollHeight } = whole
  if (scrollWidth > view.right)
    faults.push(`the document scrolls sideways: ${scrollWidth} in ${view.right} px`)
  if (hasFrame && scrollHeight > view.bottom + 1)
    faults.push(`the document scrolls: ${scrollHeight} in ${view.bottom} px`)

  // Columns: a head and the cells below it have the same edges and the same side.
  for (const table of root.querySelectorAll('table, [role=grid], [role=table]')) {
    const rows = [...table.querySelectorAll('tr, [role=row]')].filter((row) => row.checkVisibility())
    const cellsOf = (row: Element) =>
      [
        ...row.querySelectorAll(
          ':scope > :is(th, td, [role=columnheader], [role=rowheader], [role=gridcell])',
        ),
      ].filter((cell) => cell.checkVisibility())
    const head = cellsOf(rows[0] ?? table)
    for (const row of rows.slice(1)) {
      const cells = cellsOf(row)
      if (cells.length !== head.length) continue // a cause over all columns
      const wrong = cells.findIndex((cell, column) => {
        const [a, b] = [head[column]?.getBoundingClientRect(), cell.getBoundingClientRect()]
        if (!a) return false
        return (
          Math.abs(a.left - b.left) > 1 ||
          Math.abs(a.right - b.right) > 1 ||
          textSide(head[column]) !== textSide(cell)
        )
      })
      const [above, cell] = [head[wrong], cells[wrong]]
      if (!above || !cell) continue
      faults.push(
        `columns do not align: ${nameOf(above)} ${at(boxOf(above.getBoundingClientRect()))} ${textSide(above)} over ${nameOf(cell)} ${at(boxOf(cell.getBoundingClientRect()))} ${textSide(cell)}`,
      )
      break
    }
  }
  function textSide(cell: Element | undefined): string {
    if (!cell) return ''
    const { textAlign } = styleOf(cell)
    return textAlign === 'right' || textAlign === 'end' ? 'right' : textAlign === 'center' ? 'centre' : 'left'
  }

  // Texts on canvases: inside their canvas, and not over each other.
  const drawn = (window as unknown as { drawnTexts?: WeakMap<Element, readonly Drawn[]> }).drawnTexts
  for (const canvas of root.querySelectorAll('canvas')) {
    const texts = drawn?.get(canvas) ?? []
    texts.forEach((text, index) => {
      if (text.left < -1 || text.right > canvas.width + 1 || text.bottom > canvas.height + 1)
        faults.push(
          `a label is cut: "${text.text}" ${at(text)} in a canvas of ${canvas.width} × ${canvas.height}`,
        )
      for (const other of texts.slice(index + 1))
        if (!isEmpty(common(inner(text), inner(other))))
          faults.push(`two labels overlap: "${text.text}" and "${other.text}" ${at(text)} ${at(other)}`)
    })
  }

  // Fields: what does not fit ends with an ellipsis.
  for (const field of root.querySelectorAll('input')) {
    if (
      !field.checkVisibility() ||
      field === document.activeElement ||
      /checkbox|radio|password/.test(field.type)
    )
      continue
    if (field.clientWidth < 40)
      faults.push(`a field is too narrow: ${nameOf(field)} ${at(boxOf(field.getBoundingClientRect()))}`)
    const wrapper = field.closest('.mantine-Input-wrapper')
    const inside = field.getBoundingClientRect().left + Number.parseFloat(styleOf(field).paddingLeft)
    const before = wrapper?.querySelector('[data-position=left]')
    for (const part of before?.querySelectorAll('span') ?? [])
      if (part.scrollWidth > part.clientWidth + 1 || part.getBoundingClientRect().right > inside + 1)
        faults.push(
          `two texts overlap: ${said(part.textContent)} and ${said(field.value)} in the field ${nameOf(field)}`,
        )
    if (field.scrollWidth > field.clientWidth + 1 && styleOf(field).textOverflow !== 'ellipsis')
      faults.push(
        `cut without an ellipsis: ${said(field.value || field.placeholder)} in the field ${nameOf(field)}`,
      )
  }
  return faults
}
