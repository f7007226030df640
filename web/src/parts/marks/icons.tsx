/** Line icons of 16 px, drawn for this product. Decorative: the text beside them or the label of the button is read. */
const SHAPES = {
  home: (
    <>
      <path d="M2.5 7.5 8 3l5.5 4.5V13a.5.5 0 0 1-.5.5H3a.5.5 0 0 1-.5-.5Z" />
      <path d="M6.5 13.5v-4h3v4" />
    </>
  ),
  servers: (
    <>
      <rect x="2.5" y="3" width="11" height="4" rx="1" />
      <rect x="2.5" y="9" width="11" height="4" rx="1" />
      <path d="M5 5h.01M5 11h.01" />
    </>
  ),
  agents: (
    <>
      <path d="M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4z" />
      <path d="m9.7 11.6 1.4 1.4 2.4-3" />
    </>
  ),
  play: <path d="M4.5 3v10l8-5Z" />,
  traffic: <path d="M2.5 4h5M5.5 8h8M8.5 12h4" />,
  logs: <path d="M2.5 3.5h11M2.5 8h11M2.5 12.5h7" />,
  packages: (
    <>
      <path d="M8 2 13.5 5v6L8 14l-5.5-3V5Z" />
      <path d="M2.5 5 8 8l5.5-3M8 8v6" />
    </>
  ),
  settings: (
    <>
      <path d="M2.5 5h6M12 5h1.5M2.5 11H4M7.5 11h6" />
      <circle cx="10.2" cy="5" r="1.7" />
      <circle cx="5.8" cy="11" r="1.7" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  bell: (
    <>
      <path d="M4 11V7.2a4 4 0 0 1 8 0V11l1 1.2H3Z" />
      <path d="M6.8 14h2.4" />
    </>
  ),
  moon: <path d="M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z" />,
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1" />
    </>
  ),
  help: <path d="M6 6.2a2 2 0 1 1 2.8 1.9c-.5.2-.8.6-.8 1.2v.3M8 12h.01" />,
  down: <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />,
  right: <path d="m6.5 4.5 3.5 3.5-3.5 3.5" />,
  arrow: <path d="M3 8h10M9.5 4.5 13 8l-3.5 3.5" />,
  restart: <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.7h-2.7" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2" />,
  plus: <path d="M8 3.5v9M3.5 8h9" />,
  close: <path d="m4.5 4.5 7 7M11.5 4.5l-7 7" />,
  check: <path d="m3.5 8.5 3 3 6-7" />,
  minus: <path d="M4 8h8" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.2" />
      <path d="M10.5 3.2V3a.5.5 0 0 0-.5-.5H3a.5.5 0 0 0-.5.5v7a.5.5 0 0 0 .5.5h.2" />
    </>
  ),
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" />,
  download: <path d="M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10" />,
  undo: (
    <>
      <path d="M5.5 3 2.5 6l3 3" />
      <path d="M2.5 6h7a3.5 3.5 0 0 1 0 7H7" />
    </>
  ),
  eye: (
    <>
      <path d="M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8Z" />
      <circle cx="8" cy="8" r="1.8" />
    </>
  ),
  terminal: <path d="m3 5 3 3-3 3M8 11.5h5" />,
  scan: <path d="M2.5 5.5v-3h3M10.5 2.5h3v3M13.5 10.5v3h-3M5.5 13.5h-3v-3M4.5 8h7" />,
  lock: (
    <>
      <rect x="3.5" y="7" width="9" height="6.5" rx="1" />
      <path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2" />
    </>
  ),
  file: (
    <>
      <path d="M4 2.5h5l3 3v8H4Z" />
      <path d="M9 2.5v3h3" />
    </>
  ),
  link: <path d="M6.8 9.2 9.2 6.8M7 5l1.6-1.6a2.8 2.8 0 0 1 4 4L11 9M9 11l-1.6 1.6a2.8 2.8 0 0 1-4-4L5 7" />,
  enter: <path d="M13 3.5v4a2 2 0 0 1-2 2H3.5M6 6.8 3.3 9.5 6 12.2" />,
  wrap: <path d="M2.5 4h11M2.5 8h8.5a2 2 0 0 1 0 4H8M9.5 10.5 8 12l1.5 1.5M2.5 12h3" />,
  shield: <path d="M8 2.2 13 4v4c0 3-2.2 5-5 5.8C5.2 13 3 11 3 8V4Z" />,
  sort: <path d="m5 6.5 3-3 3 3M5 9.5l3 3 3-3" />,
  pin: <path d="M8 9.5v4M5 9.5h6l-1-2V3H6v4.5Z" />,
} as const
export type IconName = keyof typeof SHAPES
export const ICONS = Object.keys(SHAPES) as readonly IconName[]

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {SHAPES[name]}
    </svg>
  )
}

export function Mark() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <rect x="1" y="1" width="18" height="18" rx="5" fill="var(--tr-ink)" />
      <g fill="var(--tr-page)">
        <circle cx="6" cy="6.2" r="1.5" />
        <circle cx="10" cy="6.2" r="1.5" />
        <circle cx="14" cy="6.2" r="1.5" />
        <rect x="8.9" y="8.7" width="2.2" height="6.3" rx="1.1" />
      </g>
    </svg>
  )
}
