import { type RefObject, useEffect, useRef, useState } from 'react'

/** A canvas in device pixels that is drawn again when its size, the scheme or `draw` changes. */
export function useCanvas(draw: (context: CanvasRenderingContext2D, width: number, height: number) => void) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [version, setVersion] = useState(0)
  useEffect(() => onLookChange(canvas, () => setVersion((before) => before + 1)), [])
  useEffect(() => {
    void version
    const element = canvas.current
    const context = element?.getContext('2d')
    if (!element || !context) return
    const { clientWidth: width, clientHeight: height } = element
    const scale = window.devicePixelRatio
    element.width = Math.round(width * scale)
    element.height = Math.round(height * scale)
    context.setTransform(scale, 0, 0, scale, 0, 0)
    draw(context, width, height)
  }, [draw, version])
  return canvas
}

/** The value of a colour token in the current scheme. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--tr-${name}`).trim()
}

/** Calls back when the element is resized or the scheme changes. */
export function onLookChange(element: RefObject<Element | null>, changed: () => void): () => void {
  const resized = new ResizeObserver(changed)
  if (element.current) resized.observe(element.current)
  const scheme = new MutationObserver(changed)
  scheme.observe(document.documentElement, { attributeFilter: ['data-mantine-color-scheme'] })
  return () => {
    resized.disconnect()
    scheme.disconnect()
  }
}
