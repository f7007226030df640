import { type RefObject, useEffect, useRef } from 'react'

/** A canvas in device pixels that is drawn again when its size, the scheme or `draw` changes. */
export function useCanvas(draw: (context: CanvasRenderingContext2D, width: number, height: number) => void) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(
    () =>
      onLookChange(canvas, ({ width, height }) => {
        const element = canvas.current
        const context = element?.getContext('2d')
        if (!element || !context) return
        const scale = window.devicePixelRatio
        element.width = Math.round(width * scale)
        element.height = Math.round(height * scale)
        context.setTransform(scale, 0, 0, scale, 0, 0)
        draw(context, width, height)
      }),
    [draw],
  )
  return canvas
}

/** The value of a colour token in the current scheme. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--tr-${name}`).trim()
}

interface Size {
  readonly width: number
  readonly height: number
}

/** Calls back with the size of the element: after its layout, so that none is forced, and when it or the scheme changes. */
export function onLookChange(element: RefObject<Element | null>, changed: (size: Size) => void): () => void {
  let size: Size | undefined
  const resized = new ResizeObserver(([entry]) => {
    size = entry?.contentRect
    if (size) changed(size)
  })
  if (element.current) resized.observe(element.current)
  const scheme = new MutationObserver(() => size && changed(size))
  scheme.observe(document.documentElement, { attributeFilter: ['data-mantine-color-scheme'] })
  return () => {
    resized.disconnect()
    scheme.disconnect()
  }
}
