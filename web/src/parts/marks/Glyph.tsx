/** The shape of a state. Shapes differ without colour: disc, triangle, half disc, dotted ring, ring, cross, ?, diamond. */
const stroke = { fill: 'none', stroke: 'currentColor', strokeWidth: 1.5 } as const
const SHAPES = {
  run: <circle cx="6" cy="6" r="4.2" fill="currentColor" />,
  look: <path d="M6 1.6 11 10.4H1Z" fill="currentColor" />,
  work: (
    <>
      <circle cx="6" cy="6" r="4.2" {...stroke} />
      <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4Z" fill="currentColor" />
    </>
  ),
  idle: <circle cx="6" cy="6" r="4.2" {...stroke} strokeWidth={1.6} strokeDasharray="1.7 1.6" />,
  stop: <circle cx="6" cy="6" r="4.2" {...stroke} />,
  err: <path d="m2.2 2.2 7.6 7.6M9.8 2.2 2.2 9.8" {...stroke} strokeWidth={2.2} strokeLinecap="round" />,
  unknown: (
    <path
      d="M3.8 4.2a2.2 2.2 0 1 1 3.1 2c-.6.3-.9.7-.9 1.3M6 10.2v.01"
      {...stroke}
      strokeWidth={1.6}
      strokeLinecap="round"
    />
  ),
  untried: <path d="M6 1.2 10.8 6 6 10.8 1.2 6Z" {...stroke} />,
  pause: <path d="M4 2.5v7M8 2.5v7" {...stroke} strokeLinecap="round" />,
  tick: (
    <path
      d="m2 6.5 2.7 2.7L10 3"
      {...stroke}
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  ),
} as const
export type GlyphName = keyof typeof SHAPES
export const GLYPHS = Object.keys(SHAPES) as readonly GlyphName[]
export type Tone = 'ok' | 'warn' | 'err' | 'info' | 'idle'

export function Glyph({ name, size = 12 }: { readonly name: GlyphName; readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 12 12" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  )
}
