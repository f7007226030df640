import { Portal } from '@mantine/core'
import { useEffect, useState } from 'react'
import css from './FullText.module.css'

interface Shown {
  readonly texts: readonly string[]
  readonly left: number
  /** Of the text that is cut. */
  readonly top: number
  readonly bottom: number
}

const DELAY_MS = 300
/** What the pointer or the focus is in: what is cut in it is shown. */
const CONTROL = 'a, button, label, [role=checkbox], [role=menuitem], [role=option], [role=tab]'
const ROW = 'tr, li, [role=row], [role=gridcell], article'
/** So much of a row is looked through. */
const MOST = 300

/**
 * The full form of every text that ends with an ellipsis: of what is under the pointer, and of what has the focus, or stands
 * in its row. Screen readers read the text itself, which is in the document.
 */
export function FullText() {
  const [shown, setShown] = useState<Shown>()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    /** Draws it where its text is now. */
    let draw: (() => void) | undefined
    const hide = () => {
      clearTimeout(timer)
      draw = undefined
      setShown(undefined)
    }
    const show = (cut: readonly HTMLElement[], delay: number, isStill: () => boolean) => {
      hide()
      if (cut.length === 0) return
      timer = setTimeout(() => {
        draw = () => (isStill() && cut.some(isInView) ? setShown(shownOf(cut)) : hide())
        draw()
      }, delay)
    }
    // What gets the focus, or is under the pointer, may have come into view just now.
    const onScroll = () => draw?.()
    const onPointer = ({ target }: PointerEvent) => {
      if (!(target instanceof HTMLElement) || target.closest('[title]')) return hide()
      const control = target.closest<HTMLElement>(CONTROL)
      show([...around(target).filter(isCut), ...(control ? cutIn(control) : [])].slice(0, 1), DELAY_MS, () =>
        target.matches(':hover'),
      )
    }
    const onFocus = ({ target }: FocusEvent) => {
      if (!(target instanceof HTMLElement) || !target.matches(':focus-visible')) return
      const own = [...around(target).filter(isCut), ...cutIn(target)]
      const row = target.closest<HTMLElement>(ROW)
      show(own.length > 0 || !row ? own : cutIn(row), 0, () => target.matches(':focus'))
    }
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && hide()
    const all = { capture: true, passive: true }
    document.addEventListener('pointerover', onPointer, all)
    document.addEventListener('pointerdown', hide, all)
    document.addEventListener('focusin', onFocus)
    document.addEventListener('focusout', hide)
    document.addEventListener('scroll', onScroll, all)
    document.addEventListener('keydown', onKey, true)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('pointerover', onPointer, all)
      document.removeEventListener('pointerdown', hide, all)
      document.removeEventListener('focusin', onFocus)
      document.removeEventListener('focusout', hide)
      document.removeEventListener('scroll', onScroll, all)
      document.removeEventListener('keydown', onKey, true)
    }
  }, [])
  if (!shown) return null
  const isBelow = shown.bottom < window.innerHeight * 0.7
  return (
    <Portal>
      <div
        className={css.full}
        aria-hidden="true"
        style={{
          left: shown.left,
          ...(isBelow ? { top: shown.bottom + 4 } : { bottom: window.innerHeight - shown.top + 4 }),
        }}
      >
        {shown.texts.map((text) => (
          <p key={text}>{text}</p>
        ))}
      </div>
    </Portal>
  )
}

/** The element and what it stands in, as far as a text may be cut by it. */
function around(element: HTMLElement): HTMLElement[] {
  const all: HTMLElement[] = []
  for (let each: HTMLElement | null = element; each && all.length < 4; each = each.parentElement)
    all.push(each)
  return all
}

const cutIn = (element: HTMLElement): HTMLElement[] =>
  [...element.querySelectorAll<HTMLElement>('*')].slice(0, MOST).filter(isCut)

const isCut = (element: HTMLElement): boolean =>
  element.scrollWidth > element.clientWidth && getComputedStyle(element).textOverflow === 'ellipsis'

function isInView(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect()
  return bottom > 0 && top < window.innerHeight
}

function shownOf(cut: readonly HTMLElement[]): Shown {
  const boxes = cut.map((each) => each.getBoundingClientRect())
  const left = Math.min(...boxes.map((box) => box.left))
  const width = Math.min(480, window.innerWidth - 16)
  return {
    texts: [...new Set(cut.map(textOf))],
    left: Math.max(8, Math.min(left, window.innerWidth - width - 8)),
    top: Math.min(...boxes.map((box) => box.top)),
    bottom: Math.max(...boxes.map((box) => box.bottom)),
  }
}

const textOf = (element: HTMLElement): string =>
  element instanceof HTMLInputElement ? element.value || element.placeholder : (element.textContent ?? '')
